"""Places in a JSON text: its messages as turns, else its members packed to a readable size; refuses broken JSON.

The text is kept as it is, so a passage shows JSON's own escapes; what is read in from outside becomes markdown instead.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from limen.brain.spans import LINES, MOST, SENTENCES, TARGET, cut, trim

__all__ = ["MESSAGE_LISTS", "SPEAKER_FIELDS", "SPOKEN_FIELDS", "JsonSpan", "read_json_spans"]

SPEAKER_FIELDS: Final = ("speaker", "role", "author", "sender", "from", "name", "user")
SPOKEN_FIELDS: Final = ("content", "text", "message", "body")
MESSAGE_LISTS: Final = ("messages", "turns", "conversation", "dialogue", "dialog", "transcript", "chat")
_MOST_DEPTH: Final = 24
_SPACES: Final = " \t\r\n"

_decode: Final[Callable[[str, int], tuple[Any, int]]] = json.JSONDecoder().raw_decode


class JsonSpan(Struct, frozen=True):
    """One stretch of the text: the inside of a message, or some members of what the heading names."""

    start: int
    end: int
    heading: str = ""
    speaker: str = ""


class _Member(Struct, frozen=True):
    """One entry of an object or array: from its key to the end of its value, and the value alone."""

    start: int
    end: int
    key: str
    at: int
    value: Any


def read_json_spans(text: str, start: int = 0) -> Sequence[JsonSpan] | None:
    """The spans of a JSON text, or of one JSON value in each line; None when it is neither."""
    try:
        root = _whole(text, start) or _lines(text, start)
        if not root:
            return None
        turns = _turns(text, root)
        return turns if turns is not None else list(_spans(text, root, "", 0))
    except (ValueError, IndexError, RecursionError):
        return None


def _whole(text: str, start: int) -> list[_Member] | None:
    at = _skip(text, start)
    try:
        value, end = _decode(text, at)
    except (ValueError, RecursionError):
        return None
    return [_Member(at, end, "", at, value)] if _skip(text, end) == len(text) else None


def _lines(text: str, start: int) -> list[_Member]:
    """Raises ValueError when a line is not JSON."""
    found: list[_Member] = []
    while (at := _skip(text, start)) < len(text):
        value, start = _decode(text, at)
        found.append(_Member(at, start, "", at, value))
    return found


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACES:
        at += 1
    return at


def _members(text: str, at: int, kind: Literal["{", "["]) -> Iterator[_Member]:
    """The entries of the object or array that begins here; the text was parsed before, so it is well formed."""
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        start, key = at, ""
        if kind == "{":
            key, at = _decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        value, end = _decode(text, at)
        yield _Member(start, end, key, at, value)
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _entries(text: str, member: _Member) -> list[_Member]:
    match member.value:
        case dict():
            return list(_members(text, member.at, "{"))
        case list():
            return list(_members(text, member.at, "["))
        case _:
            return []


def _turns(text: str, root: Sequence[_Member]) -> Sequence[JsonSpan] | None:
    if len(root) == 1:
        entries = _entries(text, root[0])
        if isinstance(root[0].value, dict):
            listed = next((entry for entry in entries if entry.key.lower() in MESSAGE_LISTS), None)
            entries = _entries(text, listed) if listed else []
    else:
        entries = list(root)
    if not entries or not all(isinstance(entry.value, dict) for entry in entries):
        return None
    found = [_turn(text, entry) for entry in entries]
    spoken = [turn for turn in found if turn is not None]
    if len(spoken) * 5 < len(found) * 4:
        return None
    return [JsonSpan(*span, "", turn.speaker) for turn in spoken for span in cut(text, turn.start, turn.end, SENTENCES)]


def _turn(text: str, entry: _Member) -> JsonSpan | None:
    fields = {field.key: field for field in _entries(text, entry)}
    speaker = next((v for key in SPEAKER_FIELDS if (f := fields.get(key)) and isinstance(v := f.value, str) and v), "")
    spoken = next((field for key in SPOKEN_FIELDS if (field := fields.get(key))), None)
    if not speaker or spoken is None or not spoken.value:
        return None
    inside = 1 if isinstance(spoken.value, str) else 0
    span = trim(text, spoken.at + inside, spoken.end - inside)
    return JsonSpan(*span, "", " ".join(speaker[:64].split())) if span else None


def _spans(text: str, members: Sequence[_Member], heading: str, depth: int) -> Iterator[JsonSpan]:
    """Neighbours put together up to the size of a passage; what is larger is opened."""
    start = end = -1
    for member in members:
        if start >= 0 and member.end - start > TARGET:
            yield JsonSpan(start, end, heading)
            start = -1
        if member.end - member.start > MOST:
            yield from _opened(text, member, f"{heading} > {member.key}".strip("> ")[-400:], depth)
            continue
        start, end = (member.start if start < 0 else start), member.end
    if start >= 0:
        yield JsonSpan(start, end, heading)


def _opened(text: str, member: _Member, heading: str, depth: int) -> Iterator[JsonSpan]:
    entries = _entries(text, member) if depth < _MOST_DEPTH else []
    if entries:
        yield from _spans(text, entries, heading, depth + 1)
        return
    inside = 1 if isinstance(member.value, str) else 0
    boundary = SENTENCES if inside else LINES
    for start, end in cut(text, member.at + inside, member.end - inside, boundary):
        yield JsonSpan(start, end, heading)
