"""Moves the user's branch and index file to a commit of ours, both or none; waits for git where git is at work."""

import logging
from pathlib import Path

from limen.brain.git.locks import FileLock, LockHeld, replace_file
from limen.brain.git.repository import Head, MissingObject, Repository
from limen.brain.git.stage import Stage
from limen.brain.git.standing import PUBLISHED

__all__ = ["Branch"]

log = logging.getLogger(__name__)

STALE_LOCK_S = 60.0
"""Git holds a lock for moments; one of this age was left by a git that was killed."""


class Branch:
    """The branch that HEAD names, and the index file beside it."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._folder = folder
        self._own = folder / "limen"
        self._stage = Stage(root, folder / "index")
        self._staged_from = self._own / "staged-from"

    def publish(self, repository: Repository, head: Head, commit: bytes, former: bytes | None) -> str:
        """Let the branch point at a commit; returns why it could not, or an empty string.

        `former` is the commit from before, in case that the branch itself is gone.
        """
        if head.branch is None:
            return head.reason
        if head.tip == commit and self._stage.exists and not self._staged_from.exists():
            return ""
        staged = self._prepared(repository, head.tip or repository.find_ref(PUBLISHED) or former, commit)
        self._own.mkdir(exist_ok=True)
        index = FileLock(self._folder / "index", self._own / "index-draft")
        try:
            if staged is not None:
                index.acquire(staged, durable=False)
        except LockHeld as held:
            if held.age_s < STALE_LOCK_S:
                return "git is at work: index.lock is held"
            # The branch must not wait for ever; the index file stays the user's to free.
            log.warning("a killed git left index.lock; `git status` is right again once it is removed")
            staged = None
        try:
            reason = self._swap(repository, head, commit)
        except BaseException:
            index.release()
            raise
        if staged is not None and not reason:
            index.commit(durable=False)
            self._stage.accept()
            self._staged_from.unlink(missing_ok=True)
        elif staged is not None:
            index.release()
        return reason

    def _prepared(self, repository: Repository, former: bytes | None, commit: bytes) -> bytes | None:
        root = repository.root_of(commit)
        try:
            changes = [
                change
                for before in (self._bases(former) if self._stage.exists else [None])
                for change in repository.changes(None if before is None else repository.root_of(before), root)
            ]
        except MissingObject:
            # What the index file was made from is lost, so nothing tells what in it the user staged.
            return self._stage.prepared(repository.changes(None, root), anew=True)
        return self._stage.prepared(changes)

    def _bases(self, former: bytes | None) -> list[bytes | None]:
        """The commits that the index file may stand at: after a kill either side of the last move."""
        try:
            left = bytes.fromhex(self._staged_from.read_text("ascii")) or None
        except (FileNotFoundError, ValueError):
            return [former]
        return [left, former]

    def _swap(self, repository: Repository, head: Head, commit: bytes) -> str:
        assert head.branch is not None
        if head.tip == commit:
            return ""
        ref = FileLock(self._folder / head.branch, self._own / "ref-draft")
        try:
            ref.acquire(f"{commit.hex()}\n".encode(), durable=True, stale_after_s=STALE_LOCK_S)
        except LockHeld:
            return f"git is at work: {head.branch} is locked"
        if repository.head() != head:
            ref.release()
            return "git moved the branch at the same time"
        if not self._staged_from.exists():
            tip = b"" if head.tip is None else head.tip.hex().encode()
            replace_file(self._staged_from, tip, self._own / "staged-draft", durable=False)
        ref.commit(durable=True)
        return ""
