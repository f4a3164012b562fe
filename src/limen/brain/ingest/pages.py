"""From a document and its record to the page an index takes in; what is not text has a page without passages."""

from datetime import date
from pathlib import PurePosixPath
from typing import Final

from limen.brain.chunks import chunk
from limen.brain.days import day_number, find_date, read_date
from limen.brain.index.ports import Page, Passage
from limen.brain.markdown import DATE_FIELDS, Frontmatter, date_of, kind_of, read_frontmatter, tags_in, title_of
from limen.brain.paths import project_of, scope_of
from limen.brain.records import DocumentRecord

__all__ = ["decode", "page_of"]

_CONVERSATIONS: Final = frozenset({"chat", "conversation", "dialog", "dialogue", "transcript"})
_JSON_NAMES: Final = (".json", ".jsonl", ".ndjson")
_HEAD_BYTES: Final = 4096


def decode(content: bytes) -> str:
    """The text that all character offsets of a document count in; bytes that are not UTF-8 are replaced, never lost."""
    return content.decode("utf-8", "replace")


def page_of(record: DocumentRecord, content: bytes) -> Page:
    """A document as the index takes it in."""
    text = decode(content)
    frontmatter = read_frontmatter(text)
    title = record.title or title_of(frontmatter, text) or PurePosixPath(record.path).stem
    kind = kind_of(frontmatter) or _text(record, "type")
    return Page(
        document_id=record.id,
        path=record.path,
        title=title,
        tags=_tags(record, frontmatter),
        day=_day(record, frontmatter, text, title),
        scope=scope_of(record.path),
        project=project_of(record.path),
        kind=kind,
        trust="untrusted" if record.metadata.get("trust") == "untrusted" else "trusted",
        metadata=record.metadata,
        updated_at=record.updated_at,
        passages=_passages(record, frontmatter, text, content, kind),
    )


def _tags(record: DocumentRecord, frontmatter: Frontmatter) -> list[str]:
    given = [*tags_in(record.metadata.get("tags")), *tags_in(frontmatter.values.get("tags"))]
    return list(dict.fromkeys(given))


def _day(record: DocumentRecord, frontmatter: Frontmatter, text: str, title: str) -> int | None:
    day = _metadata_date(record) or date_of(frontmatter, text, path=record.path, title=title)
    day = day or find_date(record.created_at)
    return None if day is None else day_number(day)


def _metadata_date(record: DocumentRecord) -> date | None:
    return next((day for field in DATE_FIELDS if (day := read_date(record.metadata.get(field)))), None)


def _passages(record: DocumentRecord, frontmatter: Frontmatter, text: str, content: bytes, kind: str) -> list[Passage]:
    if b"\0" in content[:_HEAD_BYTES] and not record.content_type.startswith("text/"):
        return []
    known = kind.lower() in _CONVERSATIONS or scope_of(record.path) == "transcript"
    is_json = record.path.lower().endswith(_JSON_NAMES) or record.content_type == "application/json"
    return chunk(text, start=frontmatter.body, is_json=is_json, is_conversation=known or None)


def _text(record: DocumentRecord, field: str) -> str:
    value = record.metadata.get(field)
    return value if isinstance(value, str) else ""
