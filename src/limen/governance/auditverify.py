"""Checks the audit chain row by row, in constant memory, and names the first row that does not fit."""

from contextlib import closing
from hashlib import sha256

from msgspec import Struct

from limen.db.sqlite import Connection, is_busy, transaction
from limen.errors import StoreUnavailable
from limen.governance.auditchain import GENESIS, Head
from limen.governance.auditsql import HEAD, ROWS

__all__ = ["VerifyReport", "verify_chain"]


class VerifyReport(Struct, frozen=True):
    """What a walk along the chain found."""

    rows: int
    """How many rows fit, up to the first that does not."""
    head: str
    """The hash of the last row that fits; noted elsewhere, it pins everything up to it."""
    ok: bool
    first_bad_seq: int | None = None
    reason: str = ""


def verify_chain(db: Connection) -> VerifyReport:
    """Walk the chain in one consistent view, whoever else is writing.

    Raises:
        StoreUnavailable: the database cannot be read at all.
    """
    walk = _Walk()
    try:
        with transaction(db, write=False):
            bad = walk.go(db)
    except StoreUnavailable as error:
        if is_busy(error):
            raise
        bad = (walk.seq + 1, f"the database is damaged here: {error}")
    return VerifyReport(
        rows=walk.seq,
        head=walk.digest.hex(),
        ok=bad is None,
        first_bad_seq=bad[0] if bad else None,
        reason=bad[1] if bad else "",
    )


class _Walk:
    """How far the chain held."""

    def __init__(self) -> None:
        self.seq, self.digest = GENESIS

    def go(self, db: Connection) -> tuple[int, str] | None:
        """Walk to the end, or to the first row that does not fit and why."""
        with closing(db.cursor()) as cursor:
            for seq, digest, body in cursor.execute(ROWS):
                expected = self.seq + 1
                if seq != expected:
                    return (expected, "the row is missing") if seq > expected else (seq, "the row does not belong here")
                if sha256(self.digest + body).digest() != digest:
                    return seq, "the row is not what was written here"
                self.seq, self.digest = seq, digest
        for seq, digest in db.execute(HEAD):
            return _compare((self.seq, self.digest), (seq, digest))
        return self.seq + 1, "the record of the trail's head is missing"


def _compare(last: Head, head: Head) -> tuple[int, str] | None:
    """The head is kept apart from the rows, so that rows missing from the end, or added there, are noticed."""
    if head == last:
        return None
    if head[0] > last[0]:
        return last[0] + 1, f"the rows from here to {head[0]} are missing"
    if head[0] < last[0]:
        return head[0] + 1, f"the trail was closed at {head[0]} and rows were added behind it"
    return last[0], "the record of the trail's head was altered"
