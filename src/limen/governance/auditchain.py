"""The hash chain: how each audit row vouches for all before it, and how rows are appended to it."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from limen.db.sqlite import Connection, Transaction, Value, many, transaction
from limen.errors import StoreUnavailable
from limen.governance.auditsql import ADVANCE, APPEND, FORGET, HEAD, MOVED, NOTE_MOVED

__all__ = ["GENESIS", "HASH_BYTES", "Chain", "Head", "link"]

Head = tuple[int, bytes]
"""The number and hash of the last row."""

HASH_BYTES = 32
GENESIS: Head = (0, bytes(HASH_BYTES))

# To copy it takes less than to make one, which has OpenSSL look up by name what SHA-256 is.
_NOTHING = sha256()


def link(digest: bytes, bodies: Sequence[bytes]) -> list[bytes]:
    """The rows that follow a hash, each as its own hash, which covers its body and the hash before it, and its body."""
    rows: list[bytes] = []
    for body in bodies:
        summed = _NOTHING.copy()
        summed.update(digest + body)
        digest = summed.digest()
        rows.append(digest + body)
    return rows


class Chain:
    """Appends through one connection, which several processes may be doing at once.

    The head is remembered between transactions and never trusted: moving it is a compare-and-swap under the
    write lock, so a stale memory (another process, a failed commit) costs one more read and nothing else.
    """

    __slots__ = ("_db", "_execute", "_head", "_transaction")

    def __init__(self, db: Connection) -> None:
        self._db = db
        self._head = GENESIS
        self._transaction = transaction(db)
        self._execute = db.cursor().execute

    def transaction(self) -> Transaction:
        """Frame what is appended and noted together; all of it is kept, or nothing.

        Raises:
            StoreUnavailable: it cannot be kept, or (`is_busy`) another connection is writing.
        """
        return self._transaction

    def append(self, bodies: Sequence[bytes]) -> None:
        """Add rows, within a transaction.

        Raises:
            StoreUnavailable: the chain has no end to add to.
        """
        if not bodies:
            return
        rows = link(self._head[1], bodies)
        if not self._move_head(rows):
            self._head = self._read_head()
            rows = link(self._head[1], bodies)
            if not self._move_head(rows):
                raise StoreUnavailable("the head of the audit trail cannot be moved: run `limen audit verify`")
        # One statement for all rows: each costs a trip out of the interpreter's lock and a wait to get it back.
        self._execute(APPEND, (self._head[0], many(rows)))
        self._head = (self._head[0] + len(rows), rows[-1][:HASH_BYTES])

    def moved(self, name: str) -> int:
        """How many bytes of a spool the chain already has."""
        found = self._all(MOVED, (name,))
        return found[0][0] if found else 0

    def note_moved(self, name: str, moved: int) -> None:
        """Note how many it has now, in the transaction that appends them."""
        self._execute(NOTE_MOVED, (name, moved))

    def forget(self, name: str) -> None:
        """Drop the note of a spool that is no more.

        Raises:
            StoreUnavailable: it cannot be dropped, and does no harm.
        """
        with self._transaction:
            self._execute(FORGET, (name,))

    def _move_head(self, rows: Sequence[bytes]) -> bool:
        self._execute(ADVANCE, (self._head[0] + len(rows), rows[-1][:HASH_BYTES], *self._head))
        return self._db.changes() == 1

    def _read_head(self) -> Head:
        found = self._all(HEAD)
        if not found:
            raise StoreUnavailable("the audit trail has lost its head: run `limen audit verify`")
        seq, digest = found[0]
        return seq, digest

    def _all(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        # To the end: a statement that is not finished keeps the log from being checkpointed.
        return list(self._execute(statement, values))
