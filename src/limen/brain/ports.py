"""What the rest of the brain needs of a place that keeps documents; nothing above it knows files, SQLite or git.

Every method is plain blocking code that any thread may call; the event loop reaches it through a worker thread.
"""

from collections.abc import Sequence
from typing import Protocol

from limen.brain.records import ChangeEvent, ChangeSet, Commit, CommitId, DocumentId, DocumentRecord, FileStat
from limen.errors import LimenError

__all__ = ["LIST_LIMIT", "DocumentStore"]

LIST_LIMIT = 10_000


class DocumentStore(Protocol):
    """The documents of one brain."""

    def read(self, path: str) -> bytes:
        """What the document holds now.

        Raises:
            InvalidPath: it cannot be a path.
            NotFound: there is no such document.
        """
        ...

    def read_at(self, path: str, commit: CommitId) -> bytes:
        """What the document held after this commit; the first characters of an id are enough when they are its own.

        Raises:
            NotFound: there is no such commit, or no such document then.
        """
        ...

    def exists(self, path: str) -> bool:
        """Whether there is a document or a folder at this path."""
        ...

    def stat(self, path: str) -> FileStat:
        """Size and time of a document or folder.

        Raises:
            NotFound: there is neither.
        """
        ...

    def list(
        self, folder: str = "", *, recursive: bool = False, glob: str = "", include_generated: bool = False
    ) -> Sequence[FileStat]:
        """What lies in a folder, sorted by path; recursively only documents, else folders too.

        At most `LIST_LIMIT` entries. `glob` is matched against base names.
        """
        ...

    def get(self, path: str) -> DocumentRecord:
        """The record of the document that lies here.

        Raises:
            NotFound: there is none.
        """
        ...

    def find(self, document: DocumentId) -> DocumentRecord | None:
        """The record of this document, also when it was deleted."""
        ...

    def find_content(self, checksum: str) -> Sequence[DocumentRecord]:
        """The documents that hold exactly this content now."""
        ...

    def records(self, *, after: str = "", limit: int = LIST_LIMIT) -> Sequence[DocumentRecord]:
        """The records of what is there, in the order of their paths, from behind `after` on."""
        ...

    def count(self) -> int:
        """How many documents there are."""
        ...

    def commit(self, change_set: ChangeSet) -> Commit:
        """Make these changes, all or none. When it returns they cannot be lost and the next reader sees them.

        Raises:
            InvalidPath: a path is none.
            NotFound: what should be deleted or moved is not there.
            Conflict: an `expected` checksum is not the present one, or the idempotency key was used for other changes.
            StoreFull: there is no room; nothing was changed.
            StoreUnavailable: the store cannot be written; nothing was changed.
        """
        ...

    def commit_each(self, change_sets: Sequence[ChangeSet]) -> Sequence[Commit | LimenError]:
        """Make each of these as `commit` would, together where that is quicker; what became of each, in their order."""
        ...

    def head(self) -> int:
        """The number of the newest commit, 0 before the first."""
        ...

    def commit_id(self, seq: int) -> CommitId | None:
        """The id of the commit of this number."""
        ...

    def notice(self) -> int:
        """Take up what others did to the files behind our back, as commits of their own; returns the head."""
        ...

    def commits(self, *, path: str = "", before: int | None = None, limit: int = 100) -> Sequence[Commit]:
        """Accepted changes, newest first; of one path when it is given, through its renames."""
        ...

    def find_commit(self, commit: CommitId) -> Commit | None:
        """The commit of this id, or of the one id that begins so."""
        ...

    def events(self, *, after: int = 0, limit: int = 1000) -> Sequence[tuple[int, ChangeEvent]]:
        """What changed in the commits numbered above `after`, oldest first, with the number of each one's commit.

        Commits come whole: the limit may be passed by the rest of the last one.
        """
        ...

    def wait(self, after: int, timeout_s: float) -> int:
        """Wait until the head is above `after`, whichever process moves it, or the time is over; returns the head."""
        ...

    def close(self) -> None:
        """Let go of everything; what was acknowledged stays."""
        ...
