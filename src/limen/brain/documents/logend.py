"""Finds out, when a journal is opened, whether its log ends where its last writer ended it; mends nothing.

SQLite takes a damaged page of the log for the end of it. What was committed behind that is gone from the journal, and
the database may hold some of it already: then old pages and new ones would be mixed, each of them sound.
"""

import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from limen.brain.documents.journalsql import COMMIT_ID_OF, HEAD
from limen.brain.documents.ledger import Ledger
from limen.db.sqlite import Translated, connect_readonly
from limen.errors import JournalBroken, StoreUnavailable

__all__ = ["check_end", "count_cut_off", "head_in_file"]

_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_BIG_ENDIAN = 0x377F0683


def head_in_file(path: Path) -> tuple[int, str] | None:
    """The newest commit in the database without its log; None when that cannot be told, as while it is written."""
    if not path.exists():
        return None
    try:
        with Translated(), closing(connect_readonly(path, checksummed=True, is_unchanging=True)) as db:
            return db.execute(HEAD).fetchone()
    except StoreUnavailable:
        return None


def check_end(ledger: Ledger, before: tuple[int, str] | None) -> None:
    """See that the journal reaches as far as the database did before its log was read, and in the same way.

    Raises:
        JournalBroken: it does not.
    """
    head = ledger.head()
    for seq, commit_id in (head, before or head):
        if seq > head[0] or (seq and ledger.execute(COMMIT_ID_OF, seq) != [(commit_id,)]):
            raise JournalBroken(
                "the brain's journal has lost the end of its log: put back .limen/journal.db from a backup, or move "
                "the folder .limen away and open the brain again to start a new journal from the files",
                seq=seq,
            )


def count_cut_off(path: Path, count_pages: Callable[[], int]) -> int:
    """How many commits the log holds behind the pages that can be read; only while the machine runs on.

    A page that ends a commit is written after all others of it: where it is there, so were they.
    """
    log = path.with_name(f"{path.name}-wal")
    data = _read(log)
    # Counted after they were read, because others may be writing: those are not taken for lost.
    pages = count_pages()
    if len(data) < _HEADER.size or _read(log, _HEADER.size) != data[: _HEADER.size]:
        return 0
    magic, _, page_bytes, _, *salts = _HEADER.unpack_from(data)[:6]
    if _sum(data, is_big=magic == _BIG_ENDIAN) != _HEADER.unpack_from(data)[6:]:
        return 1
    found = 0
    step = _FRAME.size + page_bytes
    for offset in range(_HEADER.size + pages * step, len(data) - step + 1, step):
        _, ends, *own, _, _ = _FRAME.unpack_from(data, offset)
        found += own == salts and ends > 0
    return found


def _read(path: Path, size: int = -1) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except FileNotFoundError:
        return b""


def _sum(data: bytes, *, is_big: bool) -> tuple[int, int]:
    one = two = 0
    words = struct.unpack_from(">6I" if is_big else "<6I", data)
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = one + first + two & 0xFFFFFFFF
        two = two + second + one & 0xFFFFFFFF
    return one, two
