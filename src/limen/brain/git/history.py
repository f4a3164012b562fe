"""The past of a brain: who changed what and when, and what a document held then; changes nothing."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from limen.brain.git.repository import MissingObject, Repository, open_existing
from limen.brain.ports import DocumentStore
from limen.brain.records import Commit, CommitId, Operation
from limen.errors import NotFound

__all__ = ["GitPast", "History", "Version"]


class Version(NamedTuple):
    """One change of a document: the commit, and what it did to it."""

    commit: Commit
    operation: Operation


class GitPast:
    """Contents that only git still holds, by the ids git gave them; any thread may ask."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._asking = threading.Lock()
        self._repository: Repository | None = None

    def __call__(self, oid: str) -> bytes:
        """The bytes of a blob.

        Raises:
            NotFound: git does not hold it.
        """
        with self._asking:
            try:
                return self._open().read(bytes.fromhex(oid), "blob")
            except MissingObject:
                # The repository may have been made anew under the same name.
                self._repository = None
            try:
                return self._open().read(bytes.fromhex(oid), "blob")
            except MissingObject as error:
                raise NotFound("git does not hold this content any more", oid=oid) from error

    def read_at(self, path: str, git_commit: str) -> bytes:
        """What a document held in a git commit, which its first characters may name.

        Raises:
            NotFound: there is no such git commit, or no such document in it.
        """
        with self._asking:
            repository = self._open()
            commit = repository.find_commit(git_commit)
            if commit is None:
                raise NotFound(f"commit: there is no commit {git_commit}", field="commit")
            try:
                entry = repository.find(repository.root_of(commit), path.encode())
                if entry is not None:
                    return repository.read(entry.oid, "blob")
            except MissingObject as error:
                raise NotFound(f"commit: git has lost a part of {git_commit}", field="commit") from error
            raise NotFound(f"path: there was no document {path} then", field="path", path=path)

    def _open(self) -> Repository:
        if self._repository is None:
            self._repository = open_existing(self._root)
        return self._repository


class History:
    """The commits of one brain and the versions of its documents."""

    def __init__(self, store: DocumentStore, root: Path) -> None:
        self._store = store
        self._past = GitPast(root)

    def commits(self, *, path: str = "", before: int | None = None, limit: int = 100) -> Sequence[Commit]:
        """Changes, newest first, each with the git commit that carries it once git has followed."""
        return self._store.commits(path=path, before=before, limit=limit)

    def versions(self, path: str, *, limit: int = 100) -> Sequence[Version]:
        """What happened to one document, newest first, through its renames."""
        found: list[Version] = []
        at = path
        for commit in self._store.commits(path=path, limit=limit):
            touching = [one for one in commit.operations if at in {one.path, one.old_path}]
            found += [Version(commit, one) for one in touching]
            at = next((one.old_path for one in touching if one.kind == "renamed" and one.path == at), at)
        return found

    def show(self, path: str, commit: str) -> bytes:
        """What a document held after a commit of the journal or of git; the first characters of an id are enough.

        Raises:
            InvalidPath: it cannot be a path.
            NotFound: there is no such commit, or no such document then.
        """
        if self._store.find_commit(CommitId(commit)) is not None:
            return self._store.read_at(path, CommitId(commit))
        return self._past.read_at(path, commit)
