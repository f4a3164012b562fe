"""The file `.git/index`, brought along with the branch so that `git status` is clean; what the user staged stays."""

import os
import struct
from collections.abc import Iterable
from hashlib import sha1
from pathlib import Path

from limen.brain.git.objects import Entry, oid_of
from limen.brain.git.repository import Changed

__all__ = ["Stage", "blob_on_disk"]

_HEADER = struct.Struct(">4sLL")
_FIXED = struct.Struct(">10L20sH")
_EXTENDED = 0x4000
_STAGE_BITS = 0x3000
_LONGEST_NAME = 0xFFF
_SUM = 20
_NO_STAT = (0,) * 6, (0,) * 3
_Key = tuple[bytes, int]


class Stage:
    """The index file of one repository; read again only when somebody else wrote it."""

    def __init__(self, root: Path, path: Path) -> None:
        self._root = root
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._rows: dict[_Key, bytes] = {}
        """Entries in git's form, with their padding."""
        self._keys: list[_Key] | None = None
        self._version = 2

    @property
    def exists(self) -> bool:
        """Whether there is an index file that git could read; one that a power cut cut off is none."""
        return self._signature() is not None and (self._signature() == self._seen or self._load() is not None)

    def prepared(self, changes: Iterable[Changed], *, anew: bool = False) -> bytes | None:
        """The file after these changes of the branch, or with nothing but them when it is made anew.

        None when it is in a form that only git itself understands.
        """
        if anew:
            self._rows, self._keys, self._version = {}, None, 2
        elif not self._read():
            return None
        for change in changes:
            self._take(change)
        self._seen = None
        return self._encode()

    def accept(self) -> None:
        """What was prepared is on disk."""
        self._seen = self._signature()

    def _take(self, change: Changed) -> None:
        key = (change.path, 0)
        row = self._rows.get(key)
        before = None if change.before is None else change.before.oid
        if (None if row is None else row[40:60]) != before:
            # The user staged something else here, and it is theirs.
            return
        if change.after is None:
            self._rows.pop(key, None)
            self._keys = None
        else:
            self._rows[key] = _padded(self._row(change.path, change.after))
            self._keys = None if row is None else self._keys

    def _row(self, path: bytes, entry: Entry) -> bytes:
        times, rest = _NO_STAT
        found = blob_on_disk(self._root, path)
        if found is not None and found[0] == entry.oid:
            status = found[1]
            times = (
                *divmod(status.st_ctime_ns, 1_000_000_000),
                *divmod(status.st_mtime_ns, 1_000_000_000),
                status.st_dev,
                status.st_ino,
            )
            rest = (status.st_uid, status.st_gid, status.st_size)
        numbers = [number & 0xFFFFFFFF for number in (*times, int(entry.mode, 8), *rest)]
        return _FIXED.pack(*numbers, entry.oid, min(len(path), _LONGEST_NAME)) + path

    def _signature(self) -> tuple[int, int, int] | None:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _read(self) -> bool:
        if self._seen is not None and self._signature() == self._seen:
            return True
        data = self._load()
        rows = {} if data is None else _parse(data)
        if rows is None:
            return False
        self._rows, self._keys = rows, None
        self._version = 3 if data is not None and data[7:8] == b"\3" else 2
        return True

    def _load(self) -> bytes | None:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return None
        # Git itself may leave the sum out, as zeros.
        is_whole = data[-_SUM:] in {bytes(_SUM), sha1(memoryview(data)[:-_SUM], usedforsecurity=False).digest()}
        return data if is_whole and len(data) >= _HEADER.size + _SUM else None

    def _encode(self) -> bytes:
        if self._keys is None:
            self._keys = sorted(self._rows)
        header = _HEADER.pack(b"DIRC", self._version, len(self._keys))
        data = b"".join([header, *map(self._rows.__getitem__, self._keys)])
        return data + sha1(data, usedforsecurity=False).digest()


def _padded(row: bytes) -> bytes:
    return row + b"\0" * (8 - len(row) % 8)


def _parse(data: bytes) -> dict[_Key, bytes] | None:
    magic, version, count = _HEADER.unpack_from(data)
    if magic != b"DIRC" or version not in {2, 3}:
        return None
    rows: dict[_Key, bytes] = {}
    at = _HEADER.size
    for _ in range(count):
        flags = data[at + 60] << 8 | data[at + 61]
        name = at + _FIXED.size + (2 if flags & _EXTENDED else 0)
        end = data.index(b"\0", name)
        after = at + (end - at) // 8 * 8 + 8
        rows[data[name:end], flags & _STAGE_BITS] = data[at:after]
        at = after
    while at < len(data) - _SUM:
        if data[at : at + 1].islower():
            # An extension without which the entries mean something else (split or sparse index).
            return None
        at += 8 + int.from_bytes(data[at + 4 : at + 8], "big")
    return rows


def blob_on_disk(root: Path, path: bytes) -> tuple[bytes, os.stat_result] | None:
    """The id of what a file holds now, and its state; None when there is no plain file."""
    try:
        descriptor = os.open(os.path.join(os.fsencode(root), path), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        try:
            return oid_of("blob", file.read()), status
        except IsADirectoryError:
            return None
