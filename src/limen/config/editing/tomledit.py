"""Puts one table into a TOML file, or takes it out, and leaves every other line as it is."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from limen.shapes import is_array, is_object

__all__ = ["put_toml", "remove_toml"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"\s*\[{1,2}\s*(?P<path>.+?)\s*\]{1,2}\s*(?:#.*)?")
_PART = re.compile(r'"(?P<basic>(?:[^"\\]|\\.)*)"|\'(?P<literal>[^\']*)\'|(?P<bare>[A-Za-z0-9_-]+)')


def put_toml(text: str, path: Sequence[str], value: Mapping[str, object]) -> str:
    """The text with a table of this path, which it must not have yet, at its end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    body = text.removeprefix("\ufeff")
    gap = "" if not body or body.endswith(newline * 2) else newline if body.endswith("\n") else newline * 2
    return text + gap + "".join(line + newline for line in _table(path, value))


def remove_toml(text: str, path: Sequence[str]) -> str:
    """The text without the table of this path and those beneath it; the same text when there is none."""
    kept: list[str] = []
    gone: list[str] = []
    is_ours = False
    for line in text.splitlines(keepends=True):
        found = _header(line)
        if found is not None:
            # Comments and blank lines above a header belong to what it begins.
            kept += _tail(gone) if is_ours else []
            gone = []
            is_ours = found[: len(path)] == list(path)
        (gone if is_ours else kept).append(line)
    if is_ours:
        kept += [line for line in _tail(gone) if line.strip()]
        while kept and gone and not kept[-1].strip():
            kept.pop()
    return "".join(kept)


def _tail(lines: list[str]) -> list[str]:
    """The comments at the end of a table, with the blank line before them, which speak of what comes next."""
    at = len(lines)
    while at > 0 and (not lines[at - 1].strip() or lines[at - 1].lstrip().startswith("#")):
        at -= 1
    tail = lines[at:]
    return tail[1:] if tail and not tail[0].strip() else tail


def _header(line: str) -> list[str] | None:
    found = _HEADER.fullmatch(line.rstrip("\r\n"))
    if found is None:
        return None
    parts = [part["basic"] or part["literal"] or part["bare"] for part in _PART.finditer(found["path"])]
    return [part or "" for part in parts]


def _table(path: Sequence[str], value: Mapping[str, object]) -> Iterator[str]:
    yield f"[{'.'.join(_key(part) for part in path)}]"
    for key, item in value.items():
        yield f"{_key(key)} = {_value(item)}"


def _value(value: object) -> str:
    if is_object(value):
        return (
            "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + " }" if value else "{}"
        )
    if is_array(value):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    # JSON's escapes are TOML's, but for the one character that JSON leaves bare.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
