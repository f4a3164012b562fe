"""What git needs of the journal it follows; a vault is one."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from limen.brain.records import Commit, CommitId, DocumentRecord

__all__ = ["FollowedJournal"]


class FollowedJournal(Protocol):
    """The accepted changes of one brain, and what of them git has."""

    def unfollowed(self, limit: int = 1000) -> Sequence[Commit]:
        """The oldest commits that git does not have yet, in their order."""
        ...

    def content(self, checksum: str) -> bytes | None:
        """A content that the journal still holds; it holds those of every unfollowed commit."""
        ...

    def mark_followed(self, seqs: Sequence[int], git_sha: str, blobs: Mapping[str, str]) -> None:
        """Git has these commits, durably; the contents in `blobs` (checksum to git's id) can be read there."""
        ...

    def followed(self) -> tuple[int, str]:
        """The newest commit that git has, and the git commit that carries it."""
        ...

    def head(self) -> int:
        """The number of the newest commit."""
        ...

    def commits(self, *, path: str = "", before: int | None = None, limit: int = 100) -> Sequence[Commit]:
        """Accepted changes, newest first."""
        ...

    def find_commit(self, commit: CommitId) -> Commit | None:
        """The commit of this id."""
        ...

    def records(self, *, after: str = "", limit: int = 10_000) -> Sequence[DocumentRecord]:
        """The documents that are there, by path."""
        ...

    def read(self, path: str) -> bytes:
        """What a document holds now."""
        ...
