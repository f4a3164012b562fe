"""Git's objects as bytes: their ids, folders with their entries, commits; pure, and knows no repository."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha1
from itertools import accumulate
from typing import Literal, NamedTuple

__all__ = ["EXECUTABLE", "FILE", "FOLDER", "NO_TREE", "Entry", "Kind", "Tree", "commit_bytes", "is_trackable", "oid_of"]

Kind = Literal["commit", "tree", "blob"]
FILE, EXECUTABLE, FOLDER = b"100644", b"100755", b"40000"
_OID_BYTES = 20


class Entry(NamedTuple):
    """What a name in a folder stands for."""

    mode: bytes
    oid: bytes


def oid_of(kind: Kind, data: bytes) -> bytes:
    """The id git gives an object."""
    digest = sha1(b"%s %d\0" % (kind.encode(), len(data)), usedforsecurity=False)
    digest.update(data)
    return digest.digest()


class Tree:
    """One version of a folder: its entries in git's order. Editing makes another version and leaves this one."""

    __slots__ = ("_offsets", "_size", "keys", "rows")

    def __init__(self, keys: Sequence[bytes] = (), rows: Sequence[bytes] = ()) -> None:
        self.keys = keys
        self.rows = rows
        self._offsets: list[int] | None = None
        self._size: int | None = None

    @classmethod
    def parse(cls, data: bytes) -> "Tree":
        """Read git's form of a folder."""
        keys: list[bytes] = []
        rows: list[bytes] = []
        at = 0
        while at < len(data):
            space = data.index(b" ", at)
            nul = data.index(b"\0", space)
            end = nul + 1 + _OID_BYTES
            name = data[space + 1 : nul]
            keys.append(name + b"/" if data[at:space] == FOLDER else name)
            rows.append(data[at:end])
            at = end
        return cls(keys, rows)

    def __len__(self) -> int:
        return len(self.keys)

    def data(self) -> bytes:
        """Git's form of it."""
        data = b"".join(self.rows)
        self._size = len(data)
        return data

    def find(self, name: bytes) -> Entry | None:
        """What lies under this name."""
        # Folders sort as if their name ended in a slash, so a name may stand in either of two places.
        for key in (name, name + b"/"):
            row = self.row(key)
            if row is not None:
                return _entry_of(row)
        return None

    def row(self, key: bytes) -> bytes | None:
        """An entry in git's form, by its sort key."""
        place = bisect_left(self.keys, key)
        return self.rows[place] if place < len(self.keys) and self.keys[place] == key else None

    def entries(self) -> Iterable[Entry]:
        """What its names stand for."""
        return map(_entry_of, self.rows)

    def edited(self, edits: Mapping[bytes, Entry | None]) -> tuple["Tree", set[bytes]]:
        """The version after these names were set or, with None, taken away; and the sort keys that were touched."""
        keys, rows = list(self.keys), list(self.rows)
        touched: set[bytes] = set()
        for name, entry in edits.items():
            key = name if entry is None or entry.mode != FOLDER else name + b"/"
            for old in (name, name + b"/"):
                place = bisect_left(keys, old)
                if place < len(keys) and keys[place] == old:
                    touched.add(old)
                    del keys[place], rows[place]
            if entry is not None:
                place = bisect_left(keys, key)
                touched.add(key)
                keys.insert(place, key)
                rows.insert(place, b"%s %s\0%s" % (entry.mode, name, entry.oid))
        return Tree(keys, rows), touched

    def place(self, key: bytes) -> tuple[int, int]:
        """Where an entry begins and ends in git's form; both the same where it would be put."""
        if self._offsets is None:
            self._offsets = [0, *accumulate(map(len, self.rows))]
        place = bisect_left(self.keys, key)
        is_here = place < len(self.keys) and self.keys[place] == key
        return self._offsets[place], self._offsets[place + is_here]

    @property
    def size(self) -> int:
        """Bytes of git's form of it."""
        if self._size is None:
            self._size = sum(map(len, self.rows))
        return self._size


NO_TREE = Tree()


def _entry_of(row: bytes) -> Entry:
    return Entry(row[: row.index(b" ")], row[-_OID_BYTES:])


def commit_bytes(tree: bytes, parents: Sequence[bytes], author: str, committer: str, message: str) -> bytes:
    """A commit in git's form; the two people come with their times, as git writes them."""
    lines = [f"tree {tree.hex()}"]
    lines += [f"parent {parent.hex()}" for parent in parents]
    lines += [f"author {author}", f"committer {committer}", "", message]
    return "\n".join(lines).encode("utf-8", "replace")


def is_trackable(path: str) -> bool:
    """Whether git may hold this path: a `.git` at any depth, also as file systems fold it, is refused by git itself."""
    return not any(_folds_to_dotgit(segment) for segment in path.split("/"))


def _folds_to_dotgit(segment: str) -> bool:
    # HFS+ drops these characters, NTFS the dots and spaces at the end and what follows a colon.
    plain = "".join(char for char in segment if char not in _IGNORED).casefold()
    return plain.partition(":")[0].rstrip(". ") in {".git", "git~1"}


_IGNORED = frozenset("\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff")
