"""Reads the audit trail, one line per call, and follows it as it grows; it writes nothing of its own.

Before it reads it brings home what processes left behind that were killed; what a living process has spooled comes
within a tenth of a second, from that process.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from limen.clock import timestamp
from limen.db.sqlite import Connection, connect_readonly, transaction
from limen.errors import AuditBroken, NotFound
from limen.governance.auditorphans import adopt_orphans
from limen.governance.auditsql import LAST, lines_after, lines_newest_first
from limen.governance.auditverify import VerifyReport, verify_chain
from limen.governance.runs import is_running

__all__ = ["AuditLog", "LogFilter", "LogLine"]

POLL_S = 0.2
ADOPT_PATIENCE_S = 0.25
_UNEVENTFUL = frozenset({"ok", "input_required", "running"})


class LogFilter(msgspec.Struct, frozen=True):
    """Which calls are wanted; `server`, `tool`, `method` and `identity` may hold `*` and `?`."""

    limit: int = 50
    server: str = ""
    tool: str = ""
    method: str = ""
    identity: str = ""
    errors_only: bool = False
    since_ms: int | None = None

    def conditions(self) -> dict[str, str]:
        """What SQL can check, by the name of the condition."""
        since = timestamp(self.since_ms) if self.since_ms is not None else ""
        found = {
            "server": self.server,
            "tool": self.tool,
            "method": self.method,
            "identity": self.identity,
            "since": since,
        }
        return {name: value for name, value in found.items() if value}

    def wants(self, line: "LogLine") -> bool:
        """What only the whole line can tell."""
        return not self.errors_only or line.status not in _UNEVENTFUL


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """One call as the trail knows it; `at` is when it ended or, while it has not, when it began."""

    id: str
    at: str
    phase: str
    subject: str
    client: str
    tenant: str = ""
    method: str
    kind: str
    server: str
    name: str
    action: str = msgspec.field(name="class")
    args: Any
    rule: str
    status: str = ""
    """As in `Outcome`; without one, `running`, or `unfinished` when the process that began it is gone."""
    code: str = ""
    duration_ms: float = 0.0
    bytes_out: int = 0
    run: str = ""


_EVERYTHING = LogFilter()


class AuditLog(msgspec.Struct, frozen=True):
    """The trail in one database, which need not be there yet."""

    path: Path

    def list(self, filters: LogFilter = _EVERYTHING) -> list[LogLine]:
        """The latest calls that meet the filters, newest first.

        Raises:
            AuditBroken: a row is not what Limen writes.
            StoreUnavailable: the database cannot be read.
        """
        db = _find(self.path)
        if db is None:
            return []
        with closing(db), transaction(db, write=False):
            return _latest(db, filters)

    async def follow(self, filters: LogFilter = _EVERYTHING) -> AsyncGenerator[LogLine]:
        """The latest calls, oldest first, then each as it ends, and a slow one also while it is running.

        Raises:
            AuditBroken: a row is not what Limen writes.
            StoreUnavailable: the database cannot be read.
        """
        while (db := _find(self.path)) is None:  # noqa: ASYNC110 - another process makes it and cannot tell us
            await asyncio.sleep(POLL_S)
        with closing(db):
            with transaction(db, write=False):
                seen = _last(db)
                lines = _latest(db, filters)[::-1]
            while True:
                for line in lines:
                    yield line
                await asyncio.sleep(POLL_S)
                adopt_orphans(self.path, patience_s=ADOPT_PATIENCE_S)
                with transaction(db, write=False):
                    lines = _after(db, filters, seen)
                    seen = _last(db)

    def verify(self) -> VerifyReport:
        """Walk the whole chain.

        Raises:
            NotFound: there is no trail.
            StoreUnavailable: the database cannot be read.
        """
        db = _find(self.path)
        if db is None:
            raise NotFound(f"there is no audit trail at {self.path}", path=str(self.path))
        with closing(db):
            return verify_chain(db)


def _find(path: Path) -> Connection | None:
    """The database, once somebody has made the trail in it."""
    adopt_orphans(path)
    if not path.exists():
        return None
    db = connect_readonly(path)
    with transaction(db, write=False):
        is_made = db.execute("pragma user_version").fetchone() != (0,)
    if not is_made:
        db.close()
        return None
    return db


def _latest(db: Connection, filters: LogFilter) -> list[LogLine]:
    wanted = filters.conditions()
    lines: list[LogLine] = []
    finished: set[str] = set()
    with closing(db.cursor()) as cursor:
        for seq, body in cursor.execute(lines_newest_first(wanted), tuple(wanted.values())):
            if len(lines) >= filters.limit:
                break
            line = _parse(seq, body)
            if line.phase == "outcome":
                finished.add(line.id)
            elif line.id in finished:
                # Nothing of this call lies further back, so the set stays as small as the calls that overlap.
                finished.discard(line.id)
                continue
            if filters.wants(line):
                lines.append(line)
    return lines


def _after(db: Connection, filters: LogFilter, seen: int) -> list[LogLine]:
    wanted = filters.conditions()
    lines = [_parse(seq, body) for seq, body in db.execute(lines_after(wanted), (*wanted.values(), seen))]
    finished = {line.id for line in lines if line.phase == "outcome"}
    return [line for line in lines if (line.phase == "outcome" or line.id not in finished) and filters.wants(line)]


def _last(db: Connection) -> int:
    ((seq,),) = db.execute(LAST)
    return seq


def _parse(seq: int, body: bytes) -> LogLine:
    try:
        line = msgspec.json.decode(body, type=LogLine)
    except msgspec.DecodeError as error:
        raise AuditBroken(f"audit row {seq} cannot be read ({error}): run `limen audit verify`", seq=seq) from error
    if line.phase == "outcome":
        return line
    return msgspec.structs.replace(line, status="running" if is_running(line.run) else "unfinished")
