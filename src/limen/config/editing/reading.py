"""Reads Limen's own settings file before it is edited: in which syntax it is written, and what it says."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from limen.config.document import BadText
from limen.config.editing.files import FileState
from limen.config.syntax import Syntax, read_plain
from limen.errors import ConfigInvalid
from limen.shapes import is_object

__all__ = ["read_own"]


def read_own(state: FileState, file: Path) -> tuple[Syntax, Mapping[str, Any]]:
    """The syntax of a settings file, and its content.

    Raises:
        ConfigInvalid: it cannot be read; the message names the place.
    """
    syntax: Syntax = "json" if _is_json(state.text) else "yaml"
    try:
        data = read_plain(state.text, syntax)
    except BadText as error:
        place = f"{file}:{error.at.line}:{error.at.column}"
        raise ConfigInvalid(f"{place}: {error}", fix=error.fix, file=str(file)) from error
    if data is not None and not is_object(data):
        raise ConfigInvalid(f"{file} is no mapping of settings", fix="`limen config edit` opens it", file=str(file))
    return syntax, data or {}


def _is_json(text: str) -> bool:
    """Braces begin JSON, and YAML's own short form too."""
    if not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return False
    try:
        read_plain(text, "json")
    except BadText:
        return False
    return True
