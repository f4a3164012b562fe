"""What to know of a command-line program to serve it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct, field

__all__ = ["OUTPUT_BYTES", "CliOptions"]

OUTPUT_BYTES: Final = 1024 * 1024


def _no_variables() -> dict[str, str]:
    return {}


class CliOptions(Struct, frozen=True, kw_only=True):
    """A program, how it is started and how far its help is read."""

    command: str
    args: tuple[str, ...] = ()
    """Come before every subcommand."""
    env: Mapping[str, str] = field(default_factory=_no_variables)
    """The whole environment; nothing of Limen's own is added but a mark, and what keeps programs from paging."""
    cwd: Path | None = None
    help: str = "--help"
    """Comes last; several words are several arguments."""
    depth: int = 2
    """How many levels of help are read; the program's own is the first."""
    only: tuple[str, ...] = ()
    """Subcommands that become tools, each by name or by its whole path (`container ls`); empty for all."""
    timeout_s: float = 120.0
    output_bytes: int = OUTPUT_BYTES
