"""Found passages on a terminal: path, date and score, the words that matched made strong, and why."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from limen.cli.printable import printable

__all__ = ["Passages", "Trace"]

LINES = 4
_STRONG, _QUIET, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
# Stand for the turn to strong and back while lines are broken; text that was made printable holds no such characters.
_ON, _OFF = "\x01", "\x02"
_BLANKS = dict.fromkeys(map(ord, "\n\r\t"), " ")


@dataclass(frozen=True, slots=True)
class Passages:
    """Hits of a search, best first."""

    hits: Sequence[Mapping[str, Any]]

    def draw(self, width: int, *, is_colored: bool) -> str:
        """Each hit as a heading and a few lines."""
        return "\n\n".join(self._one(number, hit, width, is_colored) for number, hit in enumerate(self.hits, 1))

    def _one(self, number: int, hit: Mapping[str, Any], width: int, is_colored: bool) -> str:
        facts = [f"{hit['score']:.3f}", hit.get("date"), "untrusted" if hit.get("trust") == "untrusted" else None]
        head = f"{number:>2}  {printable(hit['path'])}"
        told = "  ".join(fact for fact in facts if fact)
        lines = _broken(hit["content"], hit["highlights"], max(20, width - 8))
        body = "\n".join(f"    {line}" for line in lines)
        why = f"    {printable(hit['why'])}" if hit.get("why") else ""
        if is_colored:
            body = body.replace(_ON, _STRONG).replace(_OFF, _PLAIN)
            head, told, why = f"{_STRONG}{head}{_PLAIN}", f"{_QUIET}{told}{_PLAIN}", f"{_QUIET}{why}{_PLAIN}"
        else:
            body = body.replace(_ON, "").replace(_OFF, "")
        return "\n".join(part for part in (f"{head}  {told}", body, why) if part)


@dataclass(frozen=True, slots=True)
class Trace:
    """How a search went, step by step."""

    trace: object

    def draw(self, width: int, *, is_colored: bool) -> str:
        """The trace as indented JSON."""
        return "\nHow it was found:\n" + printable_lines(json.dumps(self.trace, ensure_ascii=False, indent=2))


def printable_lines(text: str) -> str:
    """Every line made printable, the line breaks kept."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _broken(content: str, highlights: Sequence[Sequence[int]], width: int) -> list[str]:
    """The first lines of a passage, from a little before its first match on."""
    content = content.translate(_BLANKS)
    first = min((start for start, _ in highlights), default=0)
    begin = 0 if first < width * 2 else content.rfind(" ", 0, first - width) + 1
    marked: list[str] = []
    at = begin
    for start, end in sorted((start, end) for start, end in highlights if start >= begin):
        if start >= at:
            marked += [printable(content[at:start]), _ON, printable(content[start:end]), _OFF]
            at = end
    marked.append(printable(content[at:]))
    lines = wrap(" ".join("".join(marked).split()), width)
    shown = lines[:LINES]
    if begin:
        shown[0] = "… " + shown[0]
    if len(lines) > LINES:
        shown[-1] += " …"
    # A line may be cut between the two marks; what is strong ends with its line.
    return [_closed(line) for line in shown]


def _closed(line: str) -> str:
    return line + _OFF if line.rfind(_ON) > line.rfind(_OFF) else line
