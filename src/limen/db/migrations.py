"""Brings a database up to date in numbered steps, once each; refuses one that a newer Limen has written."""

from collections.abc import Sequence

from limen.db.sqlite import Connection, transaction
from limen.errors import StoreUnavailable

__all__ = ["migrate"]


def migrate(db: Connection, steps: Sequence[str]) -> int:
    """Apply the steps this database has not seen, all or none; its `user_version` counts those it has.

    Returns how many it had seen before.

    Several processes may start at once: the count is read again under the write lock.

    Raises:
        StoreUnavailable: a newer Limen wrote it, or it cannot be written.
    """
    with transaction(db, write=False):
        if _version(db) == len(steps):
            return len(steps)
    with transaction(db):
        seen = _version(db)
        if seen > len(steps):
            raise StoreUnavailable(
                f"the database is of version {seen} and this Limen knows {len(steps)}: install a newer Limen",
                version=seen,
                known=len(steps),
            )
        for step in steps[seen:]:
            db.execute(step)
        db.execute(f"pragma user_version = {len(steps)}")
    return seen


def _version(db: Connection) -> int:
    ((version,),) = db.execute("pragma user_version")
    return version
