"""Lists of subcommands, in the ways programs write them: columns, colons, commas, tables, nested under braces."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from limen.transport.cli.pattern import Pattern
from limen.transport.cli.plaintext import Line
from limen.transport.cli.sections import Section

__all__ = ["SKIPPED", "Subcommand", "read_commands"]

SKIPPED: Final = frozenset({"help", "completion"})
"""Subcommands that talk about the program instead of doing its work."""

_WORD: Final = r"[^\W_][\w.:+-]*?"
_ENTRY: Final = Pattern(rf"({_WORD}\*?)(?:\s*[,|]\s*{_WORD})*:?(?: \([\w, ]+\))?(?:\s{{2,}}|\s+-\s+)(\S.*)")
# Every kind of word begins with another kind of letter, so that there is only one way to read a line.
_WITH_WORDS: Final = Pattern(
    rf"({_WORD})((?: (?:[\[<({{|.-]\S*|[A-Z][^\sa-z]*(?=\s|$)|[a-z][^\s\]>)}}]*[\]>)}}]\S*))+)(?:\s+(\S.*))?"
)
_LONE: Final = Pattern(rf"({_WORD})(?:\s*[,|]\s*{_WORD})*:?")
_COMMAS: Final = Pattern(r"[^\W_][\w.:+-]*(?:\s*,\s*[^\W_][\w.:+-]*)+,?")
_BRACES: Final = Pattern(r"\{([^{}]*)\}(?:\s+\.\.\.)?(?:\s{2,}.*)?")
_LEAST_COLUMNS: Final = 3


class Subcommand(Struct, frozen=True):
    """One subcommand, and the line that introduces it."""

    name: str
    description: str = ""


def read_commands(sections: Sequence[Section], written_in_usage: Sequence[str]) -> tuple[Subcommand, ...]:
    """Every subcommand that the text lists, in its order, each once."""
    found: dict[str, str] = {}
    for section in _about_commands(sections):
        for command in _read_section(section.lines):
            found[command.name] = found.get(command.name) or command.description
    if written_in_usage:
        found = _nested(sections, written_in_usage) | found
    return tuple(Subcommand(name, about) for name, about in found.items() if name not in SKIPPED)


def _about_commands(sections: Sequence[Section]) -> Iterator[Section]:
    """Sections that list subcommands, and after a general announcement those whose titles only group them."""
    for section in sections:
        if section.is_about_commands:
            yield section


def _read_section(lines: Sequence[Line]) -> Iterator[Subcommand]:
    rows = [line for line in lines if line.text]
    if not rows:
        return
    if len(re.split(r"\s{2,}", rows[0].text)) >= _LEAST_COLUMNS and _is_table(rows[0].text):
        yield from _read_table(rows)
        return
    entries = [line.indent for line in rows if line.indent > 0 and not line.text.startswith(("-", "{"))]
    indent = min(entries, default=1)
    for at, line in enumerate(rows):
        following = rows[at + 1] if at + 1 < len(rows) else Line(0, "")
        if line.indent == indent or (line.indent in (indent + 1, indent + 2) and _ENTRY.fullmatch(line.text)):
            yield from _read_entry(line, following)


def _is_table(text: str) -> bool:
    return all(re.fullmatch(_WORD, word) for word in text.split())


def _read_table(rows: Sequence[Line]) -> Iterator[Subcommand]:
    for row in rows:
        if not _is_table(row.text):
            return
        for word in row.text.split():
            yield Subcommand(word)


def _read_entry(line: Line, following: Line) -> Iterator[Subcommand]:
    text = line.text
    if _COMMAS.fullmatch(text) and (text.endswith(",") or text.count(",") > 2 or _COMMAS.fullmatch(following.text)):
        yield from (Subcommand(name.strip()) for name in text.split(",") if name.strip())
    elif (entry := _ENTRY.fullmatch(text)) is not None:
        yield Subcommand(entry[1].rstrip("*:"), entry[2])
    elif (worded := _WITH_WORDS.fullmatch(text)) is not None:
        yield Subcommand(worded[1], worded[3] or _below(line, following))
    elif (lone := _LONE.fullmatch(text)) is not None and (following.indent > line.indent or not _is_prose(text)):
        yield Subcommand(lone[1].rstrip(":"), _below(line, following))


def _is_prose(text: str) -> bool:
    return " " in text


def _below(line: Line, following: Line) -> str:
    return following.text if following.indent > line.indent and not following.text.startswith("-") else ""


def _nested(sections: Sequence[Section], names: Sequence[str]) -> dict[str, str]:
    """What argparse writes: the names in braces, and below them, where it is told, what each does."""
    told: dict[str, str] = dict.fromkeys(names, "")
    for section in sections:
        for line in section.lines:
            entry = _ENTRY.fullmatch(line.text)
            if entry is not None and not told.get(entry[1], "x"):
                told[entry[1]] = entry[2]
    return told
