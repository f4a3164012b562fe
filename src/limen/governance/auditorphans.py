"""Brings home the audit rows of processes that were killed before their writer could."""

import logging
from contextlib import closing
from pathlib import Path

from limen.db.hubsql import HUB_STEPS
from limen.db.migrations import migrate
from limen.db.sqlite import connect
from limen.errors import StoreUnavailable
from limen.governance.auditchain import Chain
from limen.governance.auditspool import SpoolFile, claimed, is_row, spools_of

__all__ = ["adopt_orphans", "bring_home"]

log = logging.getLogger(__name__)


def adopt_orphans(database: Path, *, patience_s: float = 5.0) -> None:
    """For those who only read: see to it that what a dead process left is in the chain, if it can be done."""
    if not _has_orphans(database):
        return
    try:
        with closing(connect(database, patience_s=patience_s)) as db:
            migrate(db, HUB_STEPS)
            bring_home(Chain(db), database)
    except StoreUnavailable as error:
        log.warning("audit rows of a dead process are not in the trail yet", extra={"reason": str(error)})


def bring_home(chain: Chain, database: Path) -> None:
    """Move every orphaned spool into the chain, each row exactly once.

    A spool that was noted in a database now gone is moved as a whole: better told twice than never.

    Raises:
        StoreUnavailable: the rows cannot be kept; they stay where they are.
    """
    for path in spools_of(database):
        with claimed(path) as orphan:
            if orphan is None:
                continue
            try:
                _move(chain, orphan)
            except OSError as error:
                log.error("audit spool cannot be read", extra={"spool": path.name, "reason": str(error)})  # noqa: TRY400
                continue
            # The file first: a note without a file is litter, a file without a note would be moved twice.
            if orphan.remove():
                chain.forget(orphan.name)


def _has_orphans(database: Path) -> bool:
    for path in spools_of(database):
        with claimed(path) as orphan:
            if orphan is not None:
                return True
    return False


def _move(chain: Chain, orphan: SpoolFile) -> None:
    end = orphan.find_end()
    count = 0
    is_done = False
    while not is_done:
        with chain.transaction():
            start = chain.moved(orphan.name)
            is_done = start >= end
            if not is_done:
                piece = orphan.read(start, end)
                # After a power cut a file may hold blocks that were never written.
                rows = [row for row in piece.rows if is_row(row)]
                chain.append(rows)
                chain.note_moved(orphan.name, piece.end)
                count += len(rows)
    if count:
        log.warning("audit rows of a dead process recovered", extra={"rows": count})
