"""Works out what a set of changes does to the documents, without doing it; fails as a whole or not at all."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Protocol, assert_never

import msgspec
from msgspec import structs

from limen.brain.documents.document import MAX_DOCUMENT_BYTES, Deed, Document, describe, new_document_id
from limen.brain.paths import check_path
from limen.brain.records import Append, Change, ChangeKind, ChangeSet, CommitId, Delete, Facts, Rename, Write
from limen.errors import Conflict, FileTooLarge, InvalidArguments, NotFound

__all__ = ["Shelf", "Stage", "check_change_set", "digest_of", "paths_of"]

_NO_FACTS = Facts()


class Shelf(Protocol):
    """Documents as they are before the changes."""

    def find(self, path: str) -> Document | None:
        """The document that lies at a path."""
        ...

    def beneath(self, path: str) -> Iterator[str]:
        """The paths of the documents beneath a path, as they are asked for."""
        ...

    def content(self, document: Document) -> bytes:
        """What a document holds."""
        ...


def paths_of(change_set: ChangeSet) -> Sequence[str]:
    """Every path that the changes name, each once."""
    named = dict.fromkeys(change.path for change in change_set.changes)
    named.update(dict.fromkeys(change.to for change in change_set.changes if isinstance(change, Rename)))
    return list(named)


def check_change_set(change_set: ChangeSet) -> None:
    """Refuse what could never be accepted, before anyone waits for it.

    Raises:
        InvalidPath: a path is none.
        InvalidArguments: a text cannot be written down.
        FileTooLarge: a content is beyond what a document may hold.
    """
    for change in change_set.changes:
        check_path(change.path)
        if isinstance(change, Rename):
            check_path(change.to, field="to")
        if isinstance(change, Write | Append):
            _check_size(change.path, len(change.content))
        if isinstance(change, Write):
            _check_text("title", change.facts.title or "")
            _check_text("content_type", change.facts.content_type or "")
    for field in ("actor", "reason", "message", "author", "email", "idempotency_key"):
        _check_text(field, getattr(change_set, field))


def digest_of(change_set: ChangeSet) -> str:
    """By which the same changes are known again."""
    return sha256(msgspec.msgpack.encode(change_set.changes, order="deterministic")).hexdigest()


def _check_text(field: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArguments(f"{field}: must be valid Unicode", field=field) from error


def _check_size(path: str, size: int) -> None:
    if size > MAX_DOCUMENT_BYTES:
        raise FileTooLarge(
            f"content: {path} would have {size:,} bytes; a document may have {MAX_DOCUMENT_BYTES:,}", field="content"
        )


class Stage:
    """Documents as they are after some changes, on top of a shelf; itself a shelf for the next ones."""

    def __init__(self, below: Shelf) -> None:
        self._below = below
        self.changed: dict[str, Document | None] = {}
        """What lies at the paths that were touched; None for nothing."""

    def find(self, path: str) -> Document | None:
        """The document that lies at a path now."""
        return self.changed[path] if path in self.changed else self._below.find(path)

    def beneath(self, path: str) -> Iterator[str]:
        """The paths of the documents beneath a path now."""
        prefix = f"{path}/"
        yield from [name for name, found in self.changed.items() if found and name.startswith(prefix)]
        for name in self._below.beneath(path):
            if name not in self.changed:
                yield name

    def content(self, document: Document) -> bytes:
        """What a document holds now."""
        return document.content if document.content is not None else self._below.content(document)

    def absorb(self, upper: "Stage") -> None:
        """Take over what a stage on top of this one has changed."""
        self.changed.update(upper.changed)

    def apply(self, change: Change) -> None:
        """Make one change, which sees all before it.

        Raises:
            NotFound: what should be deleted or moved is not there.
            Conflict: it is not as expected, or something is in the way.
        """
        present = self.find(change.path)
        _check_expected(change, present)
        match change:
            case Write():
                self.put(change.path, change.content, change.facts)
            case Append():
                before = self.content(present) if present else b""
                _check_size(change.path, len(before) + len(change.content))
                self.put(change.path, before + change.content)
            case Delete():
                self._get(change.path, present)
                self.changed[change.path] = None
            case Rename():
                self._move(self._get(change.path, present), change.to)
            case _:
                assert_never(change)

    def put(self, path: str, content: bytes, facts: Facts = _NO_FACTS, stamp: str = "") -> None:
        """Have a document hold this; `stamp` is that of its file, when the file holds it already."""
        before = self.find(path)
        if before is None:
            self._check_room(path)
        known = describe(path, content, facts, before)
        self.changed[path] = Document(
            id=before.id if before else facts.document_id or new_document_id(),
            path=path,
            title=known.title,
            source=known.source,
            content_type=known.content_type,
            byte_size=len(content),
            checksum=sha256(content).hexdigest(),
            metadata=known.metadata,
            commit_id=CommitId(""),
            created_at=before.created_at if before else "",
            updated_at="",
            stamp=stamp,
            content=content,
        )

    def move(self, path: str, to: str, content: bytes, stamp: str) -> None:
        """Note that the file of a document was moved."""
        self._move(structs.replace(self._get(path, self.find(path)), content=content), to, stamp)

    def remove(self, path: str) -> None:
        """Note that the file of a document is gone."""
        self.changed[path] = None

    def deeds(self) -> Sequence[Deed]:
        """What came of the changes, document by document: what left first, then what moved, then the rest."""
        before = {found.id: found for path in self.changed if (found := self._below.find(path))}
        after = {found.id: found for found in self.changed.values() if found}
        left = [Deed("deleted", found) for key, found in before.items() if key not in after]
        moved: list[Deed] = []
        rest: list[Deed] = []
        for key, found in after.items():
            old = before.get(key)
            if old is not None and old.path != found.path:
                moved.append(Deed("renamed", found, old.path))
            elif old is not found:
                kind: ChangeKind = "updated" if old else "created"
                rest.append(Deed(kind, found))
        return [*left, *moved, *rest]

    def _move(self, document: Document, to: str, stamp: str = "") -> None:
        if to == document.path:
            return
        content = self.content(document)
        self.changed[document.path] = None
        if self.find(to) is None:
            self._check_room(to)
        self.changed[to] = structs.replace(document, path=to, stamp=stamp, content=content)

    def _get(self, path: str, present: Document | None) -> Document:
        if present is None:
            raise NotFound(f"path: there is no document {path}", field="path", path=path)
        return present

    def _check_room(self, path: str) -> None:
        above = path
        while "/" in above:
            above = above.rpartition("/")[0]
            if self.find(above) is not None:
                raise Conflict(f"path: {above} is a document, so nothing can lie beneath it", field="path", path=above)
        if next(iter(self.beneath(path)), None) is not None:
            raise Conflict(f"path: {path} is a folder; choose another name", field="path", path=path)


def _check_expected(change: Change, present: Document | None) -> None:
    checksum = present.checksum if present else ""
    if change.expected is None or change.expected == checksum:
        return
    if present is None:
        message = f"expected: there is no document {change.path}"
    elif change.expected:
        message = f"expected: {change.path} has changed; read it again"
    else:
        message = f"expected: {change.path} exists already"
    raise Conflict(message, field="expected", path=change.path, checksum_sha256=checksum)
