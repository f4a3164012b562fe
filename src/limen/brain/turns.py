"""Conversations written as text: who says what, and where; refuses to see one where a document merely has colons."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from limen.brain.spans import Span, trim

__all__ = ["Heading", "Stretch", "Turn", "is_question", "read_turns"]

_SAMPLE: Final = 20_000
"""Characters that are enough to tell whether a document is a conversation."""
_FEWEST_TURNS: Final = 4
_MOST_WORDS: Final = 4
"""Of a speaker's name."""
_SHARE: Final = 0.6
"""Of the lines, or of the paragraphs, that must begin with a speaker."""

# Every quantifier is bounded, so a line costs the same whatever it holds.
_MARK: Final = re.compile(
    r"(?:^|(?<=\ufeff))[ \t]{0,3}(?:"
    r"(?P<fence>```|~~~)"
    r"|(?P<level>#{1,6})[ \t]+(?P<title>[^\n]{1,400})"
    r"|(?:[-*>][ \t]{1,3})?"
    r"(?:[\[(][^\])\n]{1,60}[\])][ \t]{0,3}|\d[\d:./,\- ]{2,24}(?:[ap]\.?m\.?)?[ \t]{0,2}[-\u2013\u2014]?[ \t]{1,3})?"
    r"[*_]{0,3}(?P<name>[^\W\d_][^\n:\uff1a*\[\]()|<>{}\"`#,;!?=/\\]{0,39}?)"
    r"(?:[ \t]{0,2}[\[(][^\])\n]{1,60}[\])])?[*_]{0,3}[ \t]?"
    r"(?::[*_]{0,3}(?=[ \t\r\n]|\Z)|\uff1a[*_]{0,3})"
    r")",
    re.MULTILINE | re.IGNORECASE,
)
_ROLES: Final = frozenset({"user", "assistant", "system", "human", "ai", "bot", "agent", "tool", "me", "you"})
_NO_SPEAKERS: Final = frozenset(
    (
        "action",
        "actions",
        "agenda",
        "answer",
        "attendees",
        "author",
        "by",
        "caution",
        "cc",
        "date",
        "example",
        "from",
        "hint",
        "http",
        "https",
        "important",
        "kind",
        "location",
        "name",
        "note",
        "notes",
        "participants",
        "path",
        "place",
        "project",
        "session",
        "source",
        "status",
        "subject",
        "summary",
        "tags",
        "tip",
        "title",
        "to",
        "todo",
        "topic",
        "type",
        "url",
        "version",
        "warning",
        "when",
        "where",
    )
)
_CLOSERS: Final = " \t\r\n\"'\u201d\u2019)]}*_~`"
_QUESTION_MARKS: Final = ("?", "\uff1f", "\u061f")
"""Latin, East Asian and Arabic."""


class Turn(Struct, frozen=True):
    """What one speaker says; from `start` to `body` it only tells who."""

    start: int
    body: int
    end: int
    speaker: str


class Heading(Struct, frozen=True):
    """A heading between turns."""

    level: int
    title: str


class Stretch(Struct, frozen=True):
    """Text that belongs to no turn."""

    start: int
    end: int


class _Sign(Struct, frozen=True):
    """A place where something begins: a turn, or a heading when `level` is set."""

    start: int
    end: int
    name: str
    level: int = 0


def read_turns(text: str, start: int, *, is_known: bool) -> Sequence[Turn | Heading | Stretch] | None:
    """The turns of a conversation with what stands between them; None when the text is none.

    `is_known` says that it is one: then two turns are enough, and their share does not matter.
    """
    if not is_known and not _looks_like_one(text, start):
        return None
    signs = list(_signs(text, start, len(text)))
    counts = Counter(sign.name for sign in signs if not sign.level)
    speakers = {name for name, count in counts.items() if count > 1 or name.lower() in _ROLES}
    if len(speakers) < 2:
        # A short talk names nobody twice.
        speakers = set(counts)
    if not speakers:
        return None
    kept = [sign for sign in signs if sign.level or sign.name in speakers]
    return list(_parts(text, start, list(_between(text, kept))))


def _between(text: str, signs: Sequence[_Sign]) -> Iterator[_Sign]:
    """Leave out the headings inside what an assistant says: they are part of its answer."""
    speaker = ""
    for sign, end in zip(signs, [*(sign.start for sign in signs[1:]), len(text)], strict=True):
        is_said = sign.level and speaker.lower() in _ROLES and text[sign.end : end].strip()
        if not is_said:
            yield sign
        speaker = speaker if sign.level else sign.name


def is_question(text: str) -> bool:
    """Whether what is said ends as a question."""
    return text.rstrip(_CLOSERS).endswith(_QUESTION_MARKS)


def _looks_like_one(text: str, start: int) -> bool:
    end = min(len(text), start + _SAMPLE)
    if sum(text.count(colon, start, end) for colon in ":\uff1a") < _FEWEST_TURNS:
        return False
    signs = [sign for sign in _signs(text, start, end) if not sign.level]
    if len(signs) < _FEWEST_TURNS:
        return False
    names = {sign.name for sign in signs}
    if not 2 <= len(names) <= max(2, len(signs) // 2) or not all(map(_is_name, names)):
        return False
    return _share(text[start:end], {sign.start - start for sign in signs}) >= _SHARE


def _share(text: str, begins: set[int]) -> float:
    """How much of a text is turns: of its lines, or of its paragraphs, whichever is more."""
    lines = [0, 0]
    paragraphs = [0, 0]
    is_apart = True
    at = 0
    for line in text.split("\n"):
        content = line.strip()
        is_content = bool(content) and content[0] != "#"
        if is_content:
            lines[at in begins] += 1
            if is_apart:
                paragraphs[at in begins] += 1
        is_apart = not is_content
        at += len(line) + 1
    return max(counts[True] / max(sum(counts), 1) for counts in (lines, paragraphs))


def _is_name(name: str) -> bool:
    return not name[0].islower() or name.lower() in _ROLES


def _signs(text: str, start: int, end: int) -> Iterator[_Sign]:
    is_code = False
    for mark in _MARK.finditer(text, start, end):
        if mark["fence"]:
            is_code = not is_code
        elif is_code:
            continue
        elif mark["level"]:
            yield _Sign(mark.start(), mark.end(), mark["title"].strip().rstrip("#").strip(), len(mark["level"]))
        else:
            name = " ".join(mark["name"].split())
            if name.lower() not in _NO_SPEAKERS and name.count(" ") < _MOST_WORDS:
                yield _Sign(mark.start(), mark.end(), name)


def _parts(text: str, start: int, signs: Sequence[_Sign]) -> Iterator[Turn | Heading | Stretch]:
    ends = [*(sign.start for sign in signs), len(text)]
    yield from _stretch(text, start, ends[0])
    for sign, end in zip(signs, ends[1:], strict=True):
        if sign.level:
            yield Heading(sign.level, sign.name)
            yield from _stretch(text, sign.end, end)
        elif span := _said(text, sign.end, end):
            yield Turn(sign.start, *span, sign.name)


def _stretch(text: str, start: int, end: int) -> Iterator[Stretch]:
    if span := trim(text, start, end):
        yield Stretch(*span)


def _said(text: str, start: int, end: int) -> Span | None:
    """What stands behind a label, without a line that only separates it from the next."""
    span = trim(text, start, end)
    if span is None:
        return None
    last = text.rfind("\n", *span)
    tail = text[last + 1 : span[1]].strip() if last >= 0 else ""
    if len(tail) >= 3 and tail[0] in "-*_" and not tail.strip(tail[0]):
        return trim(text, span[0], last)
    return span
