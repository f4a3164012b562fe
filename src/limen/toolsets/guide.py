"""Limen's own documentation as searchable sections: what the context tools search until there are brains."""

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from limen.db.sqlite import Connection, connect_memory

__all__ = ["Guide", "Hit", "find_docs"]

_HEADING = re.compile(r"^(#{1,3})\s+(.+?)\s*#*$", re.MULTILINE)
_WORD = re.compile(r"\w+")
EXCERPT_CHARS = 600


class Section(Struct, frozen=True):
    """One heading and the text beneath it."""

    path: str
    title: str
    body: str


class Hit(Struct, frozen=True):
    """A section that answers a query."""

    path: str
    title: str
    excerpt: str
    score: float


def find_docs() -> Path | None:
    """Where the documentation lies: inside the installed package, or beside the source tree."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "docs", package.parent.parent / "docs"):
        if folder.is_dir():
            return folder
    return None


class Guide(Struct, frozen=True, dict=True):
    """Reads the documentation when it is first asked about, and searches it by BM25."""

    folder: Path | None

    @cached_property
    def sections(self) -> Sequence[Section]:
        """Every section of every page, in a fixed order."""
        if self.folder is None:
            return ()
        pages = sorted(self.folder.rglob("*.md"))
        return [
            section
            for page in pages
            for section in _split(page.relative_to(self.folder).as_posix(), page.read_text(encoding="utf-8"))
        ]

    @cached_property
    def _index(self) -> Connection:
        index = connect_memory()
        index.execute(
            "create virtual table section using fts5(title, body, path unindexed, tokenize='porter unicode61')"
        )
        for section in self.sections:
            index.execute(
                "insert into section (title, body, path) values (?, ?, ?)", (section.title, section.body, section.path)
            )
        return index

    def search(self, query: str, limit: int) -> list[Hit]:
        """The sections that fit the query best, best first."""
        words = _WORD.findall(query)
        if not words:
            return []
        expression = " OR ".join(f'"{word}"' for word in words)
        rows = self._index.execute(
            "select path, title, body, -bm25(section, 4.0, 1.0) from section where section match ? "
            "order by bm25(section, 4.0, 1.0), rowid limit ?",
            (expression, limit),
        )
        return [Hit(path, title, _excerpt(body, words), round(score, 4)) for path, title, body, score in rows]

    def titles(self, start: str, limit: int) -> list[str]:
        """Section titles that contain what was typed so far, those that begin with it first."""
        typed = start.lower()
        found = dict.fromkeys(section.title for section in self.sections if typed in section.title.lower())
        return sorted(found, key=lambda title: (not title.lower().startswith(typed), title))[:limit]


def _split(path: str, page: str) -> list[Section]:
    marks = list(_HEADING.finditer(page))
    ends = [mark.start() for mark in marks[1:]] + [len(page)]
    return [
        Section(path, mark[2], page[mark.end() : end].strip())
        for mark, end in zip(marks, ends, strict=True)
        if page[mark.end() : end].strip()
    ]


def _excerpt(body: str, words: Sequence[str]) -> str:
    if len(body) <= EXCERPT_CHARS:
        return body
    lowered = body.lower()
    places = [place for word in words if (place := lowered.find(word.lower())) >= 0]
    start = max(0, min(places, default=0) - EXCERPT_CHARS // 4)
    start = 0 if start == 0 else body.find(" ", start) + 1
    end = start + EXCERPT_CHARS
    return ("… " if start else "") + body[start:end].strip() + (" …" if end < len(body) else "")
