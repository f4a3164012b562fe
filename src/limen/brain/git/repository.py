"""A brain's git repository as it is found: made when it is missing, read through libgit2, never changed through it."""

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from limen.brain.git.objects import FOLDER, NO_TREE, Entry, Kind, Tree
from limen.errors import NotFound, StoreUnavailable

if TYPE_CHECKING:
    import pygit2  # costs 40 ms, and most calls never need git

__all__ = ["Changed", "Head", "MissingObject", "Repository", "TreeCache", "open_existing", "open_repository"]

log = logging.getLogger(__name__)

EXCLUDED = ".limen/"
_CACHED_ROWS = 400_000


class MissingObject(Exception):
    """The repository lacks an object it should have, or holds it damaged."""


class Head(NamedTuple):
    """Where the user stands: the branch, or None with the reason why Limen must not move it; and its newest commit."""

    branch: str | None
    tip: bytes | None
    reason: str = ""


class Changed(NamedTuple):
    """A file that differs between two trees."""

    path: bytes
    before: Entry | None
    after: Entry | None


def open_repository(root: Path, trees: "TreeCache | None" = None) -> "Repository":
    """The repository of the brain in this folder; a new one when there is none.

    Raises:
        StoreUnavailable: there is something that cannot be used as one.
    """
    import pygit2

    folder = root / ".git"
    try:
        if not folder.is_file() and not all((folder / part).exists() for part in ("HEAD", "objects", "refs")):
            # Also mends one that lost some of its parts; what is there stays.
            pygit2.init_repository(str(folder), bare=False, initial_head="main", workdir_path=str(root))
        repository = pygit2.Repository(str(folder))
    except (pygit2.GitError, OSError) as error:
        raise StoreUnavailable(f"git: {folder} cannot be used: {error}", reason="git") from error
    if not folder.is_dir():
        raise StoreUnavailable(f"git: {folder} must be a folder, not a link to another repository", reason="git")
    _exclude_own(folder)
    return Repository(folder, repository, trees or TreeCache())


def open_existing(root: Path, name: str = ".git") -> "Repository":
    """The repository of the brain in this folder, to read from; nothing is made or changed.

    Raises:
        NotFound: there is none.
    """
    import pygit2

    try:
        return Repository(root / name, pygit2.Repository(str(root / name)), TreeCache())
    except pygit2.GitError as error:
        raise NotFound("the brain has no git history", reason=str(error)) from error


def _exclude_own(folder: Path) -> None:
    path = folder / "info" / "exclude"
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        lines = []
    if EXCLUDED not in lines:
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join([*lines, EXCLUDED, ""]), "utf-8")


class TreeCache:
    """The folders read last, as long as they are not too many rows together."""

    def __init__(self) -> None:
        self._trees: dict[bytes, Tree] = {}
        self._rows = 0

    def find(self, oid: bytes) -> Tree | None:
        """The folder of this id, when it is here."""
        tree = self._trees.pop(oid, None)
        if tree is not None:
            self._trees[oid] = tree
        return tree

    def put(self, oid: bytes, tree: Tree) -> None:
        """Keep a folder; those not asked for longest go."""
        if oid in self._trees:
            return
        self._trees[oid] = tree
        self._rows += len(tree) + 1
        while self._rows > _CACHED_ROWS and len(self._trees) > 1:
            oldest = next(iter(self._trees))
            self._rows -= len(self._trees.pop(oldest)) + 1


class Repository:
    """Objects, refs and state of one repository; for one thread, and for one piece of work at a time."""

    def __init__(self, folder: Path, repository: "pygit2.Repository", trees: TreeCache) -> None:
        self.folder = folder
        self._git = repository
        self.trees = trees

    def read(self, oid: bytes, kind: Kind) -> bytes:
        """The bytes of an object.

        Raises:
            MissingObject: it is not there, is damaged, or is of another kind.
        """
        import pygit2

        try:
            found, data = self._git.odb.read(pygit2.Oid(raw=oid))
        except (KeyError, ValueError, pygit2.GitError) as error:
            raise MissingObject(f"{kind} {oid.hex()}: {error}") from error
        if found != {"commit": 1, "tree": 2, "blob": 3}[kind]:
            raise MissingObject(f"{oid.hex()} is no {kind}")
        return data

    def has(self, oid: bytes) -> bool:
        """Whether the object is there."""
        import pygit2

        return pygit2.Oid(raw=oid) in self._git.odb

    def tree(self, oid: bytes | None) -> Tree:
        """A folder; the empty one for None.

        Raises:
            MissingObject: it is not there.
        """
        if oid is None:
            return NO_TREE
        tree = self.trees.find(oid)
        if tree is None:
            tree = Tree.parse(self.read(oid, "tree"))
            self.trees.put(oid, tree)
        return tree

    def root_of(self, commit: bytes) -> bytes:
        """The root folder of a commit.

        Raises:
            MissingObject: the commit is not there.
        """
        return bytes.fromhex(self.read(commit, "commit")[5:45].decode("ascii"))

    def parent_of(self, commit: bytes) -> bytes | None:
        """The first parent of a commit.

        Raises:
            MissingObject: the commit is not there.
        """
        data = self.read(commit, "commit")
        return bytes.fromhex(data[53:93].decode("ascii")) if data[46:53] == b"parent " else None

    def is_whole(self, commit: bytes) -> bool:
        """Whether a commit and every folder in it can be read and every file in it is there."""
        try:
            pending = [self.root_of(commit)]
            while pending:
                for entry in self.tree(pending.pop()).entries():
                    if entry.mode == FOLDER:
                        pending.append(entry.oid)
                    elif entry.mode != b"160000" and not self.has(entry.oid):
                        return False
        except MissingObject:
            return False
        return True

    def find_ref(self, name: str) -> bytes | None:
        """What a ref points at now."""
        import pygit2

        try:
            target = self._git.lookup_reference(name).resolve().target
        except (KeyError, ValueError, pygit2.GitError):
            return None
        return target.raw if isinstance(target, pygit2.Oid) else None

    def list_refs(self) -> dict[str, str]:
        """Every ref with the commit it points at."""
        names = {name: self.find_ref(name) for name in self._git.listall_references()}
        return {name: oid.hex() for name, oid in names.items() if oid is not None}

    def find_commit(self, beginning: str) -> bytes | None:
        """The commit whose id is this or alone begins so; anything but at least four hex digits names none."""
        import pygit2

        if not re.fullmatch(r"[0-9a-f]{4,40}", beginning):
            return None
        try:
            found = self._git.revparse_single(beginning)
        except (KeyError, ValueError, pygit2.GitError):
            return None
        return found.id.raw if found.type_str == "commit" else None

    def head(self) -> Head:
        """Where the user stands now."""
        try:
            text = (self.folder / "HEAD").read_text("ascii", "replace").strip()
        except FileNotFoundError:
            text = ""
        state = self._git.state()
        if state:
            return Head(None, None, f"git is in the middle of a {state.name.split('_')[0].lower()}")
        if not text.startswith("ref: refs/heads/"):
            return Head(None, None, "HEAD is detached")
        branch = text.removeprefix("ref: ")
        return Head(branch, self.find_ref(branch))

    def descends(self, later: bytes, earlier: bytes) -> bool:
        """Whether one commit has the other among its ancestors."""
        import pygit2

        try:
            return bool(self._git.descendant_of(pygit2.Oid(raw=later), pygit2.Oid(raw=earlier)))
        except (KeyError, pygit2.GitError):
            return False

    def find(self, root: bytes | None, path: bytes) -> Entry | None:
        """What lies at a path below a root folder."""
        entry = None if root is None else Entry(FOLDER, root)
        for name in path.split(b"/"):
            if entry is None or entry.mode != FOLDER:
                return None
            entry = self.tree(entry.oid).find(name)
        return entry

    def changes(self, before: bytes | None, after: bytes | None, prefix: bytes = b"") -> Iterator[Changed]:
        """The files that differ between two root folders."""
        if before == after:
            return
        old, new = self.tree(before), self.tree(after)
        old_rows, new_rows = set(old.rows), set(new.rows)
        names = {row[row.index(b" ") + 1 : -21] for row in old_rows ^ new_rows}
        for name in sorted(names):
            was, now = old.find(name), new.find(name)
            path = prefix + name
            was_folder, is_folder = _folder(was), _folder(now)
            if was_folder is not None or is_folder is not None:
                yield from self.changes(was_folder, is_folder, path + b"/")
            was_file = None if was_folder is not None else was
            is_file = None if is_folder is not None else now
            if was_file != is_file:
                yield Changed(path, was_file, is_file)


def _folder(entry: Entry | None) -> bytes | None:
    return entry.oid if entry is not None and entry.mode == FOLDER else None
