"""The settings in force as plain data, each with where it came from. Lets no secret out.

Server entries are shown as they were written, so that a variable's name is seen and never its value.
"""

import re
from collections.abc import Mapping

from msgspec import Struct, structs

from limen.config.decode import Origin
from limen.config.document import Items, Node, Scalar, Table, written
from limen.config.load import Loaded
from limen.config.model import ServerEntry
from limen.config.variables import hide_literals
from limen.redact import MASK, redact_text, redact_value

__all__ = ["show"]

_QUERY = re.compile(r"(?P<lead>[?&;](?P<name>[^=?&#;]+)=)(?P<value>[^&#;]+)")
_OPTION = re.compile(r"(?P<lead>-{1,2}(?P<name>[^=]+)=)(?P<value>.*)", re.DOTALL)


def show(loaded: Loaded) -> dict[str, object]:
    """`file`; `settings` by dotted path, each with `value` and `from`; `disabled` servers with the reason."""
    rows: dict[str, object] = {}
    _add(rows, loaded.settings, "", loaded.origins)
    for path, origin in loaded.origins.items():
        name, key = _entry_parts(path)
        if key and origin.written is not None:
            entry = loaded.settings.servers.get(name)
            rows[path] = {"value": _entry_value(entry, key, origin.written), "from": str(origin)}
    return {
        "file": None if loaded.path is None else str(loaded.path),
        "settings": rows,
        "disabled": dict(loaded.disabled),
    }


def _add(rows: dict[str, object], section: Struct, path: str, origins: Mapping[str, Origin]) -> None:
    for item in structs.fields(section):
        place = f"{path}{item.encode_name}"
        value = getattr(section, item.name)
        if isinstance(value, Struct):
            _add(rows, value, f"{place}.", origins)
        elif place != "servers":
            origin = origins.get(place)
            rows[place] = {"value": redact_value(value), "from": str(origin) if origin else "default"}


def _entry_parts(path: str) -> tuple[str, str]:
    """Name and key of `servers.name.key`; empty for any other path."""
    parts = path.split(".")
    is_entry = len(parts) == 3 and parts[0] == "servers" and "[" not in parts[2]
    return (parts[1], parts[2]) if is_entry else ("", "")


def _entry_value(entry: ServerEntry | None, key: str, node: Node) -> object:
    match key, node:
        case (("env" | "headers"), Table()):
            return {item.key: _hidden(item.value) for item in node.fields}
        case "args", Items():
            return _arguments([item.text if isinstance(item, Scalar) else MASK for item in node.items])
        case "url", Scalar():
            return _QUERY.sub(_hide_named, redact_text(node.text))
        case (("env" | "headers" | "args" | "url"), _):
            return MASK
        case _:
            value = _in_force(entry, key)
            return value if isinstance(value, (bool, int, float)) else redact_value(written(node))


def _in_force(entry: ServerEntry | None, key: str) -> object:
    if entry is None:
        return None
    return next(getattr(entry, item.name) for item in structs.fields(entry) if item.encode_name == key)


def _hidden(node: Node) -> str:
    return hide_literals(node.text, MASK) if isinstance(node, Scalar) else MASK


def _arguments(words: list[str]) -> list[str]:
    """Command-line words without the values of options that are named like secrets."""
    shown: list[str] = []
    for before, word in zip(["", *words], words, strict=False):
        if before.startswith("-") and "=" not in before and not word.startswith("-") and _is_secret(before):
            shown.append(hide_literals(word, MASK))
        else:
            shown.append(_OPTION.sub(_hide_named, redact_text(word)))
    return shown


def _hide_named(found: re.Match[str]) -> str:
    return found["lead"] + (hide_literals(found["value"], MASK) if _is_secret(found["name"]) else found["value"])


def _is_secret(name: str) -> bool:
    """Whether a value under this name would be masked anywhere else."""
    return redact_value({name: "x"}) == {name: MASK}
