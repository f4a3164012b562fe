"""Puts one member into a JSON object, or takes it out, and leaves comments, order and layout of the rest alone."""

import json
import re
from collections.abc import Sequence

from limen.config.document import BadText, Mark
from limen.config.editing.jsonspans import Member, ObjectSpan, find_member, find_value_start, span_object

__all__ = ["put_json", "remove_json"]

_INDENT = re.compile(r"\n([ \t]+)(?=\S)")
_DEFAULT_INDENT = "  "


def put_json(text: str, path: Sequence[str], value: object) -> str:
    """The text with `value` at the end of `path`; objects on the way are made, a value that is there is replaced.

    Raises:
        BadText: something on the way is no object, or is given twice.
    """
    start = find_value_start(text)
    layout = _Layout(text)
    if start is None:
        body = layout.write(_nested(path, value), 0)
        return f"{text}{layout.break_after(text)}{body}{layout.newline}"
    for depth, key in enumerate(path):
        span = _object(text, start, path[:depth])
        member = find_member(text, span, key)
        if member is None:
            return _insert(text, span, key, _nested(path[depth + 1 :], value), layout)
        is_last = depth == len(path) - 1
        if is_last or text[member.value_start : member.end] == "null":
            new = layout.write(_nested(path[depth + 1 :], value), layout.level(member.start))
            return text[: member.value_start] + new + text[member.end :]
        start = member.value_start
    return text


def remove_json(text: str, path: Sequence[str]) -> str:
    """The text without the member at the end of `path`; the same text when there is none.

    Raises:
        BadText: something on the way is no object, or is given twice.
    """
    start = find_value_start(text)
    for depth, key in enumerate(path):
        if start is None:
            return text
        span = _object(text, start, path[:depth])
        member = find_member(text, span, key)
        if member is None:
            return text
        if depth == len(path) - 1:
            return _cut(text, span, member)
        start = member.value_start
    return text


def _object(text: str, start: int, path: Sequence[str]) -> ObjectSpan:
    span = span_object(text, start)
    if span is None:
        place = Mark(text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start))
        what = f"`{'.'.join(path)}`" if path else "the file"
        raise BadText(f"{what} is no object", "make it one: {…}", place)
    return span


def _insert(text: str, span: ObjectSpan, key: str, value: object, layout: "_Layout") -> str:
    inside = text[span.start : span.end]
    last = span.members[-1] if span.members else None
    comma = "," if last is not None and last.comma is None else ""
    if last is not None and "\n" not in inside:
        member = f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        gap = " "
        tail = text[span.last :]
    else:
        level = layout.level(last.start) if last is not None else layout.level(span.start) + 1
        member = f"{json.dumps(key)}: {layout.write(value, level)}"
        gap = layout.newline + layout.unit * level
        tail = layout.newline + layout.unit * (level - 1) + text[span.end - 1 :]
        if "\n" in text[span.last : span.end]:
            tail = text[span.last :]
    # A file with commas behind its last members gets one more of them.
    member += "," if last is not None and last.comma is not None else ""
    comma_at = last.end if last is not None else span.last
    return text[:comma_at] + comma + text[comma_at : span.last] + gap + member + tail


def _cut(text: str, span: ObjectSpan, member: Member) -> str:
    start = member.start
    while text[start - 1] in " \t\r\n":
        start -= 1
    end = member.end if member.comma is None else member.comma + 1
    before = [other for other in span.members if other.end <= member.start]
    # A comma that now stands before the `}` goes too; what is said between it and the member stays.
    if member is span.members[-1] and member.comma is None and before and before[-1].comma is not None:
        comma = before[-1].comma
        return text[:comma] + text[comma + 1 : start] + text[end:]
    return text[:start] + text[end:]


def _nested(path: Sequence[str], value: object) -> object:
    for key in reversed(path):
        value = {key: value}
    return value


class _Layout:
    """How a text is laid out: its line ends, and what one level of indentation is."""

    def __init__(self, text: str) -> None:
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self._text = text
        found = _INDENT.search(text)
        self.unit = found[1] if found else _DEFAULT_INDENT
        if "\t" in self.unit:
            self.unit = "\t"

    def level(self, at: int) -> int:
        """How many levels deep the line of this place begins."""
        line = self._text[self._text.rfind("\n", 0, at) + 1 : at]
        lead = line[: len(line) - len(line.lstrip(" \t"))]
        return len(lead) // len(self.unit)

    def write(self, value: object, level: int) -> str:
        """The value over several lines, its first line where the text now stands."""
        text = json.dumps(value, ensure_ascii=False, indent=self.unit)
        return text.replace("\n", self.newline + self.unit * level)

    def break_after(self, text: str) -> str:
        """What must stand between the text and a new line."""
        return "" if not text.removeprefix("\ufeff") or text.endswith("\n") else self.newline
