"""Writes plain data as YAML the way people do: a block of keys, with lists and small mappings on one line."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from limen.shapes import is_array, is_object

__all__ = ["flow", "write_block"]

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")
_NOT_TEXT: Final = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_WIDTH: Final = 100


def write_block(name: str, value: object, indent: int) -> list[str]:
    """Lines that give the key `name` this value, `indent` spaces in."""
    lead = " " * indent
    head = f"{lead}{_text(name)}:"
    if is_object(value) and value and (indent == 0 or _holds_more(value) or _is_wide(head, value)):
        return [head, *(line for key, item in value.items() for line in write_block(key, item, indent + 2))]
    if is_array(value) and (any(is_object(item) for item in value) or _is_wide(head, value)):
        return [head, *(f"{lead}  - {flow(item)}" for item in value)]
    return [f"{head} {flow(value)}"]


def flow(value: object) -> str:
    """The value on one line."""
    if is_object(value):
        return _mapping(value)
    if is_array(value):
        return _list(value)
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _mapping(value: Mapping[str, object]) -> str:
    return "{" + ", ".join(f"{_text(key)}: {flow(item)}" for key, item in value.items()) + "}"


def _list(value: Sequence[object]) -> str:
    return "[" + ", ".join(flow(item) for item in value) + "]"


def _holds_more(value: Mapping[str, object]) -> bool:
    return any(not isinstance(item, str) for item in value.values()) or "command" in value or "url" in value


def _is_wide(head: str, value: object) -> bool:
    return len(head) + len(flow(value)) > _WIDTH


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.casefold() not in _NOT_TEXT:
        return text
    return '"' + "".join(_character(char) for char in text) + '"'


def _character(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    # Line breaks of any kind would be folded into spaces, and control characters are refused.
    if char.isprintable():
        return char
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"
