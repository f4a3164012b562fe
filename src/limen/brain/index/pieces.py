"""From pages to what an index keeps of them: the words of each field, columns and vectors; touches no storage."""

from collections.abc import Sequence
from datetime import date, timedelta
from itertools import accumulate

import msgspec
from msgspec import Struct

from limen.brain.analysis import marks_of, terms_of
from limen.brain.arrays import I8, I32, U8, np
from limen.brain.days import MONTHS
from limen.brain.index.columns import IS_QUESTION, Rows, key_of, speaker_key
from limen.brain.index.ports import NO_DAY, Field, Page, Passage, Trust
from limen.brain.index.vectors import quantised, sign_bits
from limen.brain.index.words import Words, gather
from limen.brain.paths import Scope
from limen.models.ports import Embedder

__all__ = [
    "ABOUT",
    "CONTENT",
    "FIELDS",
    "HEADING",
    "OF_PASSAGES",
    "PLACE",
    "SCOPES",
    "TAG",
    "TRUSTS",
    "Piece",
    "about_text",
    "draft",
    "numbered",
]

CONTENT, HEADING, ABOUT, TAG, PLACE = range(5)
FIELDS: dict[Field, int] = {"content": CONTENT, "heading": HEADING, "about": ABOUT}
OF_PASSAGES = frozenset({CONTENT, HEADING})
"""The rows of these fields are passages, those of the others documents."""
SCOPES: tuple[Scope, ...] = ("global", "project", "agent", "wiki", "raw", "transcript", "other")
TRUSTS: tuple[Trust, ...] = ("trusted", "untrusted")
_BETWEEN_NAMES = str.maketrans("/_-.", "    ")
_LONGEST = 2**16 - 1


class Piece(Struct, frozen=True):
    """Documents with their words by field, as a unit to store or to merge."""

    rows: Rows
    fields: Sequence[Words]
    vectors: "I8 | None" = None
    bits: "U8 | None" = None


def draft(pages: Sequence[Page], embedder: Embedder | None) -> Piece:
    """These pages as one piece, numbered from 0."""
    passages = [passage for page in pages for passage in page.passages]
    # Who speaks is no part of what is said: it would make all passages of a speaker alike.
    texts = [passage.text[passage.label :] for passage in passages]
    contents = [terms_of(text) for text in texts]
    vectors = bits = None
    if embedder is not None and passages:
        vectors = quantised(embedder.embed(texts))
        bits = sign_bits(vectors)
    return Piece(
        _rows(pages, passages, [len(terms) for terms in contents]),
        (
            gather(contents),
            gather(_headings(passages)),
            gather([terms_of(about_text(page)) for page in pages]),
            gather([sorted(set(page.tags)) for page in pages]),
            gather([_places(page.path) for page in pages]),
        ),
        vectors,
        bits,
    )


def about_text(page: Page) -> str:
    """What is said about a whole document: its title, tags, path and day."""
    stem = page.path.rpartition(".")[0] or page.path
    return "\n".join((page.title, " ".join(page.tags), stem.translate(_BETWEEN_NAMES), _day_text(page.day)))


def numbered(piece: Piece, *, document: int, passage: int) -> Piece:
    """The same, with the numbers that the index gives its first document and its first passage."""
    rows = piece.rows
    moved = msgspec.structs.replace(rows, document=rows.document + document, passage=rows.passage + passage)
    return msgspec.structs.replace(piece, rows=moved)


def _rows(pages: Sequence[Page], passages: Sequence[Passage], lengths: Sequence[int]) -> Rows:
    counts = [len(page.passages) for page in pages]
    return Rows(
        document=np.arange(len(pages), dtype=np.int64),
        passage=np.array(list(accumulate(counts, initial=0))[:-1], dtype=np.int64),
        count=np.array(counts, dtype=np.int32),
        day=_days(pages),
        scope=np.array([SCOPES.index(page.scope) for page in pages], dtype=np.uint8),
        trust=np.array([TRUSTS.index(page.trust) for page in pages], dtype=np.uint8),
        project=np.array([key_of(page.project) for page in pages], dtype=np.uint64),
        kind=np.array([key_of(page.kind) for page in pages], dtype=np.uint64),
        length=np.array([min(length, _LONGEST) for length in lengths], dtype=np.uint16),
        speaker=np.array([speaker_key(passage.speaker) for passage in passages], dtype=np.uint32),
        flags=np.array([_flags(passage) for passage in passages], dtype=np.uint8),
    )


def _flags(passage: Passage) -> int:
    return marks_of(passage.text[passage.label :]) | (IS_QUESTION if passage.is_question else 0)


def _days(pages: Sequence[Page]) -> I32:
    return np.array([NO_DAY if page.day is None else page.day for page in pages], dtype=np.int32)


def _headings(passages: Sequence[Passage]) -> Sequence[Sequence[str]]:
    # Neighbours mostly stand under the same heading.
    known: dict[str, Sequence[str]] = {"": ()}
    for passage in passages:
        if passage.heading not in known:
            known[passage.heading] = terms_of(passage.heading)
    return [known[passage.heading] for passage in passages]


def _places(path: str) -> Sequence[str]:
    """A path and each folder above it, which ends with a slash."""
    return [*(path[: place + 1] for place, char in enumerate(path) if char == "/"), path]


def _day_text(day: int | None) -> str:
    if day is None:
        return ""
    try:
        found = date(1970, 1, 1) + timedelta(days=day)
    except OverflowError:
        return ""
    return f"{found.isoformat()} {found.day} {MONTHS[found.month - 1]} {found.year}"
