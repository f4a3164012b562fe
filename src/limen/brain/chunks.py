"""From a document's text to its passages, each an exact stretch of it; frontmatter is none, and none crosses a heading.

Linear in the text: every character is looked at a bounded number of times.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from limen.brain.blocks import Block, read_blocks
from limen.brain.index.ports import Passage
from limen.brain.jsonspans import read_json_spans
from limen.brain.spans import ITEMS, LINES, MOST, SENTENCES, TARGET, Span, cut
from limen.brain.turns import Heading, Stretch, Turn, is_question, read_turns

__all__ = ["chunk"]

SMALL: Final = 200
"""A piece shorter than this joins its neighbour when both together still fit."""
WHOLE: Final = 4000
"""Code and tables up to this long stay in one piece."""
_HEADING_CHARS: Final = 120


def chunk(text: str, *, start: int = 0, is_json: bool = False, is_conversation: bool | None = None) -> list[Passage]:
    """The passages of a text from `start` on (where its frontmatter ends), in their order.

    `is_conversation` tells whether it is known to be one; None lets the text speak for itself.
    """
    if is_json:
        spans = read_json_spans(text, start)
        if spans is not None:
            return [_passage(text, (span.start, span.end), span.heading, span.speaker) for span in spans]
    if is_conversation is not False:
        parts = read_turns(text, start, is_known=bool(is_conversation))
        if parts is not None:
            return list(_conversation(text, parts))
    return list(_sections(text, read_blocks(text, start)))


class _Trail:
    """The headings above a place, outermost first."""

    def __init__(self) -> None:
        self._levels: list[int] = []
        self._titles: list[str] = []
        self.joined = ""

    def enter(self, level: int, title: str) -> None:
        self.leave(level)
        self._levels.append(level)
        self._titles.append(" ".join(title[:_HEADING_CHARS].split()))
        self._join()

    def leave(self, level: int) -> None:
        """Come out of every section that a heading of this level ends."""
        while self._levels and self._levels[-1] >= level:
            self._levels.pop()
            self._titles.pop()
        self._join()

    def _join(self) -> None:
        self.joined = " > ".join(title for title in self._titles if title)


def _sections(text: str, blocks: Sequence[Block]) -> Iterator[Passage]:
    trail = _Trail()
    units: list[Span] = []
    bare: Block | None = None
    for block in blocks:
        if block.kind == "heading":
            yield from _pack(text, units, trail.joined)
            units = []
            if bare is not None and block.level <= bare.level:
                yield _bare_heading(text, bare, trail)
            trail.enter(block.level, block.title)
            bare = block
        elif block.kind != "rule":
            units += _units(text, block)
            bare = None
    yield from _pack(text, units, trail.joined)
    if bare is not None:
        yield _bare_heading(text, bare, trail)


def _bare_heading(text: str, heading: Block, trail: _Trail) -> Passage:
    """A heading with nothing beneath it is all that its section says."""
    trail.leave(heading.level)
    return _passage(text, (heading.start, heading.end), trail.joined)


def _units(text: str, block: Block) -> Sequence[Span]:
    """The parts of a block that are not divided further."""
    size = block.end - block.start
    if size <= MOST or (size <= WHOLE and block.kind in ("fence", "table")):
        return [(block.start, block.end)]
    match block.kind:
        case "fence" | "table":
            boundary = LINES
        case "list":
            boundary = ITEMS
        case _:
            boundary = SENTENCES
    return cut(text, block.start, block.end, boundary)


def _pack(text: str, units: Sequence[Span], heading: str) -> Iterator[Passage]:
    """Put neighbours together as long as they make a passage of good size."""
    if not units:
        return
    packed = [units[0]]
    for start, end in units[1:]:
        first, last = packed[-1]
        is_tiny = last - first < SMALL or end - start < SMALL
        if end - first <= (MOST if is_tiny else TARGET):
            packed[-1] = (first, end)
        else:
            packed.append((start, end))
    for span in packed:
        yield _passage(text, span, heading)


def _conversation(text: str, parts: Sequence[Turn | Heading | Stretch]) -> Iterator[Passage]:
    trail = _Trail()
    for part in parts:
        match part:
            case Heading():
                trail.enter(part.level, part.title)
            case Turn():
                yield from _said(text, part, trail.joined)
            case Stretch():
                units = [unit for block in read_blocks(text, part.start, part.end) for unit in _plain(text, block)]
                yield from _pack(text, units, trail.joined)


def _said(text: str, turn: Turn, heading: str) -> Iterator[Passage]:
    label = turn.body - turn.start
    for start, end in cut(text, turn.body, turn.end, SENTENCES):
        yield _passage(text, (start - label, end), heading, turn.speaker, label)
        label = 0


def _plain(text: str, block: Block) -> Sequence[Span]:
    return () if block.kind == "rule" else _units(text, block)


def _passage(text: str, span: Span, heading: str, speaker: str = "", label: int = 0) -> Passage:
    start, end = span
    body = text[start:end]
    return Passage(start, end, body, heading, speaker, label, bool(speaker) and is_question(body))
