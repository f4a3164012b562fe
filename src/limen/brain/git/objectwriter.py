"""Puts objects into the growing pack: each once, and told by its former version where that saves room."""

from collections.abc import Mapping
from dataclasses import dataclass

from limen.brain.git.delta import splice_delta, tree_delta
from limen.brain.git.objects import FOLDER, Entry, Tree, oid_of
from limen.brain.git.packfile import Pack
from limen.brain.git.repository import MissingObject, Repository

__all__ = ["ObjectWriter"]

MOST_DEPTH = 48
"""Objects that must be read to read one; git's own packs use 50."""
LINKS = 16
"""Versions of a folder that are told by the one before them, until one is told by the version these began with."""
LEAST_DELTA_BYTES = 1024


@dataclass(slots=True)
class _Anchor:
    """A version of a folder that later ones can be told by, and what changed since."""

    tree: Tree
    offset: int
    depth: int
    newest: bytes
    touched: set[bytes]
    links: int = 0


def _holds(repository: Repository, oid: bytes, data: bytes) -> bool:
    # The journal lets go of what git has, so that it is listed there is not enough.
    try:
        return repository.has(oid) and repository.read(oid, "blob") == data
    except MissingObject:
        return False


class ObjectWriter:
    """Writes the objects of commits; reads what it needs from the repository or from what it wrote itself."""

    def __init__(self, pack: Pack) -> None:
        self.pack = pack
        self._anchors: dict[bytes, _Anchor] = {}
        self._fresh: dict[bytes, bytes] = {}

    def fresh(self) -> Mapping[bytes, bytes]:
        """The blobs that are in no pack on disk yet, by their ids."""
        return self._fresh

    def settle(self) -> None:
        """The pack is on disk."""
        self._fresh = {}

    def put_blob(self, repository: Repository, data: bytes, former: bytes | None) -> bytes:
        """Make sure that a content is in the repository; `former` is what lay at its path before."""
        oid = oid_of("blob", data)
        if oid in self.pack.offsets or _holds(repository, oid, data):
            return oid
        self._fresh[oid] = data
        base = self.pack.offsets.get(former) if former is not None and len(data) >= LEAST_DELTA_BYTES else None
        if former is not None and base is not None and self.pack.depth(base) < MOST_DEPTH:
            before = self._fresh[former] if former in self._fresh else repository.read(former, "blob")
            delta = splice_delta(before, data)
            if len(delta) < len(data) // 2:
                self.pack.add_delta(oid, base, delta)
                return oid
        self.pack.add("blob", oid, data)
        return oid

    def put_commit(self, data: bytes) -> bytes:
        """Put a commit into the pack."""
        oid = oid_of("commit", data)
        if oid not in self.pack.offsets:
            self.pack.add("commit", oid, data)
        return oid

    def apply(self, repository: Repository, root: bytes | None, edits: Mapping[bytes, Entry | None]) -> bytes:
        """The root folder after files were put or, with None, taken away."""
        made = self._folder(repository, b"", root, edits)
        return made if made is not None else self._put_tree(repository, b"", None, Tree(), set())

    def _folder(
        self, repository: Repository, path: bytes, oid: bytes | None, edits: Mapping[bytes, Entry | None]
    ) -> bytes | None:
        tree = repository.tree(oid)
        here: dict[bytes, Entry | None] = {}
        below: dict[bytes, dict[bytes, Entry | None]] = {}
        for inside, entry in edits.items():
            name, slash, rest = inside.partition(b"/")
            if slash:
                below.setdefault(name, {})[rest] = entry
            else:
                here[name] = entry
        for name, inner in below.items():
            was = tree.find(name)
            old = was.oid if was is not None and was.mode == FOLDER else None
            made = self._folder(repository, path + name + b"/", old, inner)
            if made is not None:
                here[name] = Entry(FOLDER, made)
            elif old is not None:
                # Git has no empty folders; a file that takes the name stays.
                here.setdefault(name, None)
        after, touched = tree.edited(here)
        return self._put_tree(repository, path, oid, after, touched) if len(after) else None

    def _put_tree(
        self, repository: Repository, path: bytes, former: bytes | None, tree: Tree, touched: set[bytes]
    ) -> bytes:
        data = tree.data()
        oid = oid_of("tree", data)
        if oid == former:
            return oid
        if oid not in self.pack.offsets and not repository.has(oid):
            if former is None or former not in self.pack.offsets or len(data) < LEAST_DELTA_BYTES:
                self._put_whole(path, oid, tree, data)
            else:
                self._put_change(path, oid, former, repository.tree(former), tree, touched, data)
        repository.trees.put(oid, tree)
        return oid

    def _put_whole(self, path: bytes, oid: bytes, tree: Tree, data: bytes) -> None:
        offset = self.pack.add("tree", oid, data)
        self._anchors[path] = _Anchor(tree, offset, 0, oid, set())

    def _put_change(  # noqa: PLR0913 - two versions of a folder, and what lies between them
        self, path: bytes, oid: bytes, former: bytes, before: Tree, tree: Tree, touched: set[bytes], data: bytes
    ) -> None:
        anchor = self._anchors.get(path)
        former_offset = self.pack.offsets[former]
        if anchor is None or anchor.newest != former:
            # Nothing is known of what lies between: begin a chain at the former version.
            depth = self.pack.depth(former_offset)
            anchor = self._anchors[path] = _Anchor(before, former_offset, depth, former, set())
        anchor.touched |= touched
        anchor.newest = oid
        if anchor.links < LINKS and anchor.depth + anchor.links < MOST_DEPTH:
            anchor.links += 1
            self.pack.add_delta(oid, former_offset, tree_delta(before, tree, touched))
        elif anchor.depth + 1 < MOST_DEPTH - LINKS:
            offset = self.pack.add_delta(oid, anchor.offset, tree_delta(anchor.tree, tree, anchor.touched))
            self._anchors[path] = _Anchor(tree, offset, anchor.depth + 1, oid, set())
        else:
            self._put_whole(path, oid, tree, data)
