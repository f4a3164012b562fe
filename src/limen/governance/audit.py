"""The audit trail: an intent before and an outcome after every call, hash-chained in `hub.db`.

What changes something is durable before it runs, and again before anyone hears of it. What is passed on to an upstream
is in a spool that survives `kill -9` before it leaves, and its outcome before anyone hears of it; what only reads is
there before anyone hears of it. Both are durable within a tenth of a second (docs/decisions/0005-audit-durability.md,
0017-calls-to-upstreams-are-spooled.md). A row that cannot be kept is an AuditUnavailable, never a shrug.
"""

import asyncio
import logging
from asyncio import AbstractEventLoop, Future, TimerHandle
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from limen.calls.call import Call, Capability, Outcome
from limen.clock import now_ms
from limen.errors import AuditUnavailable, StoreUnavailable
from limen.governance.auditrow import ArgumentsKept, RowWriter
from limen.governance.auditspool import Spool
from limen.governance.auditwriter import AuditWriter, Errand, Report
from limen.governance.runs import this_run
from limen.ids import CallId

__all__ = ["AuditTrail", "open_audit"]

log = logging.getLogger(__name__)

TICK_S = 0.05
RETRY_S = 0.5
PATIENCE_S = 5.0
CLOSE_GRACE_S = 6.0
MAX_QUEUED = 10_000

_SPOOLED = frozenset({"read", "external"})

# What is known of a read that is running: call, capability, rule, and when it began. A plain tuple, for its price.
_Read = tuple[Call, Capability, str, int]


class AuditTrail:
    """The Audit port on SQLite; made by `open_audit`, used on its event loop only.

    Reads go through the spool and writes through the writer's thread, each kind in its own order; a write takes along
    whatever was spooled before it.
    """

    def __init__(self, path: Path, loop: AbstractEventLoop, arguments: ArgumentsKept, patience_s: float) -> None:
        self.last_error: StoreUnavailable | None = None
        """Why the database takes no rows at present, or None."""
        self._loop = loop
        self._rows = RowWriter(this_run(), arguments)
        self._young: dict[CallId, _Read] = {}
        self._aging: dict[CallId, _Read] = {}
        self._begun: dict[CallId, str] = {}
        self._queued = 0
        self._moving: Errand | None = None
        self._is_closed = False
        self._timer: TimerHandle | None = None
        self._ended: Future[None] = loop.create_future()
        self._spool = Spool(path)
        self._writer = AuditWriter(path, loop, self._settle, patience_s)
        self._writer.start()

    @property
    def pending(self) -> int:
        """Rows accepted and not yet in the chain."""
        return len(self._young) + len(self._aging) + self._spool.waiting + self._queued

    def intent(self, call: Call, capability: Capability, rule: str) -> Awaitable[None] | None:
        """Record what is about to happen: at once for what changes something, in memory for what only reads.

        Raises:
            AuditUnavailable: (from the call or the await) the row cannot be kept.
        """
        if self._is_closed:
            raise AuditUnavailable("the audit trail is closed")
        if capability.action == "read":
            self._young[call.id] = (call, capability, rule, now_ms())
            if self._timer is None:
                self._arm()
            return None
        self._begun[call.id] = rule
        body = self._rows.intent(call, capability, rule, now_ms())
        if capability.action == "external" and self._is_spooled([body]):
            return None
        return self._hand_over([body])

    def outcome(self, call: Call, capability: Capability | None, outcome: Outcome) -> Awaitable[None] | None:
        """Record what happened, together with its intent if that is still in memory.

        Raises:
            AuditUnavailable: (from the call or the await) the row cannot be kept.
        """
        if self._is_closed:
            raise AuditUnavailable("the audit trail is closed")
        read = self._young.pop(call.id, None) or self._aging.pop(call.id, None)
        if read is None:
            return self._late_outcome(call, capability, outcome)
        _, capability, rule, began_ms = read
        lines = self._rows.both(call, capability, rule, began_ms, outcome, now_ms())
        try:
            self._spool.append(lines, 2)
        except StoreUnavailable:
            # Perhaps the database can still be written, or says better why not.
            return self._hand_over(lines[:-1].split(b"\n"))
        return None

    async def flush(self) -> None:
        """Wait until every row accepted so far is in the chain.

        Raises:
            AuditUnavailable: one is not; what was spooled is tried again, by this process or a later one.
        """
        if self._is_closed:
            raise AuditUnavailable("the audit trail is closed")
        self._publish(self._aging)
        self._publish(self._young)
        if self._aging or self._young:
            raise AuditUnavailable("no audit row can be spooled")
        await self._hand_over(())

    async def aclose(self) -> None:
        """Write every row that was accepted and end the thread, within CLOSE_GRACE_S."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._publish(self._aging)
        self._publish(self._young)
        self._spool.retire()
        self._submit([self._rows.intent(*read) for reads in (self._aging, self._young) for read in reads.values()])
        self._writer.stop()
        try:
            async with asyncio.timeout(CLOSE_GRACE_S):
                await self._ended
        except TimeoutError:
            log.error("audit rows lost at shutdown", extra={"rows": self._queued})  # noqa: TRY400 - no news in a trace
        else:
            self._writer.join()
        self._aging.clear()
        self._young.clear()
        self._spool.abandon()
        if self._spool.waiting:
            log.warning("audit rows wait in the spool for the next start", extra={"rows": self._spool.waiting})

    def _late_outcome(self, call: Call, capability: Capability | None, outcome: Outcome) -> Awaitable[None] | None:
        """The outcome of a call whose intent is written already, or that never got as far as an intent."""
        body = self._rows.outcome(call, capability, self._begun.pop(call.id, ""), outcome, now_ms())
        if capability is not None and capability.action not in _SPOOLED:
            return self._hand_over([body], has_happened=True)
        return None if self._is_spooled([body]) else self._hand_over([body])

    def _publish(self, reads: dict[CallId, _Read]) -> None:
        """Put intents on record ahead of their outcomes; when that cannot be, they stay and go along with those."""
        if not reads:
            return
        bodies = [self._rows.intent(*read) for read in reads.values()]
        if not self._is_spooled(bodies):
            if self._spool.can_lock:
                return
            self._submit(bodies)
        self._begun.update((call_id, rule) for call_id, (_, _, rule, _) in reads.items())
        reads.clear()

    def _hand_over(self, bodies: Sequence[bytes], *, has_happened: bool = False) -> Awaitable[None]:
        if self._queued >= MAX_QUEUED:
            raise AuditUnavailable("too many audit rows wait to be written", waiting=self._queued)
        done: Future[None] = self._loop.create_future()
        self._submit(bodies, done, has_happened=has_happened)
        return done

    def _submit(
        self, bodies: Sequence[bytes] = (), done: Future[None] | None = None, *, has_happened: bool = False
    ) -> Errand:
        # What was answered earlier goes along, so that the chain tells things in their order.
        errand = Errand(bodies, self._spool.take_marks(), done, has_happened)
        self._queued += len(bodies)
        self._writer.submit(errand)
        return errand

    def _arm(self) -> None:
        self._timer = self._loop.call_later(TICK_S if self.last_error is None else RETRY_S, self._tick)

    def _tick(self) -> None:
        """Have the spool moved, and let followers see calls that take long."""
        self._timer = None
        self._publish(self._aging)
        self._aging.update(self._young)
        self._young.clear()
        self._spool.retire_if_due()
        if self._spool.waiting and self._moving is None:
            self._moving = self._submit()
        if self._timer is None and (self._aging or self._spool.waiting):
            self._arm()

    def _settle(self, report: Report) -> None:
        self._note(report.error)
        if report.moved is not None:
            self._spool.note_moved(report.moved)
        for errand in report.errands:
            self._queued -= len(errand.bodies)
            if errand is self._moving:
                self._moving = None
            self._answer(errand, report.error)
        if report.is_last and not self._ended.done():
            self._ended.set_result(None)

    def _answer(self, errand: Errand, error: StoreUnavailable | None) -> None:
        if error is not None and errand.has_happened and self._is_spooled(errand.bodies):
            error = None
        if errand.done is None or errand.done.done():
            if error is not None and errand.bodies:
                log.error("audit rows lost", extra={"rows": len(errand.bodies), "reason": str(error)})
        elif error is None:
            errand.done.set_result(None)
        else:
            errand.done.set_exception(AuditUnavailable(f"no audit row can be kept: {error}"))

    def _is_spooled(self, bodies: Sequence[bytes]) -> bool:
        try:
            self._spool.append(b"\n".join([*bodies, b""]), len(bodies))
        except (StoreUnavailable, AuditUnavailable):
            return False
        if self._timer is None and not self._is_closed:
            self._arm()
        return True

    def _note(self, error: StoreUnavailable | None) -> None:
        if error is not None and self.last_error is None:
            log.error("audit trail cannot be written", extra={"reason": str(error)})
        if error is None and self.last_error is not None:
            log.warning("audit trail can be written again")
        self.last_error = error


@asynccontextmanager
async def open_audit(
    path: Path, arguments: ArgumentsKept = "digest", *, patience_s: float = PATIENCE_S
) -> AsyncGenerator[AuditTrail]:
    """Keep the trail in this database, made if need be; leaving flushes every row and ends the thread.

    `patience_s` is how long a database locked by others is waited for before rows are given up.

    A database that cannot be written is no error here: until it can be, what must be recorded is refused call by
    call, and `last_error` says why.
    """
    trail = AuditTrail(path, asyncio.get_running_loop(), arguments, patience_s)
    try:
        yield trail
    finally:
        await trail.aclose()
