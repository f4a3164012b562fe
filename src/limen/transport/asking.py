"""Requests of ours that wait for their answers on one connection: who waits, for how long, and how a wait ends."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Final

import msgspec

from limen.errors import ChannelClosed, LimenError, RemoteError, RequestTimeout
from limen.protocol.frames import ErrorReply, Reply, RequestId, encode_notification, encode_request
from limen.transport.eager import begin
from limen.transport.inflight import Outbound, ProgressHandler, read_progress, with_token

__all__ = ["Asking", "Outlet"]

log = logging.getLogger(__name__)

FAREWELL_S: Final = 1.0
"""How long telling the other side that we gave up may take."""
TICK_S: Final = 0.001
"""A loop's clock may tick in milliseconds, and then a timer rings a little early."""

Outlet = Callable[[bytes], Coroutine[Any, Any, None]]
"""Where frames that belong to one request go: the channel, or that request's own response stream."""


class Asking:
    """One timer ends all waits whose time is up: one for each would cost as much as sending the request."""

    __slots__ = ("_last_id", "_rings_at", "_timer", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[RequestId, Outbound] = {}
        self._last_id = 0
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = 0.0

    async def request(  # noqa: PLR0913 - each is a fact about the request
        self,
        method: str,
        params: bytes,
        send: Outlet,
        timeout_s: float,
        on_progress: ProgressHandler | None,
        context: object,
    ) -> bytes:
        """Ask, and wait for the result.

        Raises:
            RequestTimeout: no answer in time; the other side was told.
            RemoteError: it answered with an error.
            ChannelClosed: it is gone.
        """
        self._last_id += 1
        message_id = self._last_id
        loop = asyncio.get_running_loop()
        entry = self._waiting[message_id] = Outbound(loop.create_future(), timeout_s, on_progress, context)
        try:
            frame = encode_request(message_id, method, with_token(params, message_id) if on_progress else params)
            rest = begin(send(frame))
            if rest is not None:
                return await self._await_all(entry, rest)
            self._set(entry, loop.time() + timeout_s, loop)
            return await entry.future
        except TimeoutError:
            del self._waiting[message_id]
            await self._give_up(message_id, send, "timed out")
            raise RequestTimeout(f"no answer to {method} within {timeout_s:g} s", method=method) from None
        except asyncio.CancelledError:
            del self._waiting[message_id]
            await self._give_up(message_id, send, "no longer needed")
            raise
        finally:
            self._waiting.pop(message_id, None)
            if entry.future.done() and not entry.future.cancelled():
                # Looked at, so that a failure nobody could wait for any more is not reported as forgotten.
                entry.future.exception()

    async def _await_all(self, entry: Outbound, sending: Awaitable[None]) -> bytes:
        # A peer that does not read must not hold us longer than one that does not answer.
        async with asyncio.timeout(entry.timeout_s) as entry.scope:
            await sending
            return await entry.future

    async def _give_up(self, message_id: RequestId, send: Outlet, reason: str) -> None:
        params = msgspec.json.encode({"requestId": message_id, "reason": reason})
        try:
            async with asyncio.timeout(FAREWELL_S):
                await send(encode_notification("notifications/cancelled", params))
        except (TimeoutError, LimenError) as error:
            log.info("cancellation not delivered", extra={"request_id": message_id, "reason": str(error)})

    def settle(self, frame: Reply | ErrorReply) -> None:
        """An answer has come."""
        entry = None if frame.id is None else self._waiting.get(frame.id)
        if entry is None or entry.future.done():
            log.info("answer to nothing asked", extra={"request_id": frame.id})
        elif isinstance(frame, Reply):
            entry.future.set_result(frame.result)
        else:
            entry.future.set_exception(RemoteError(frame.message, rpc_code=frame.code, data=frame.data))

    def advance(self, params: bytes) -> None:
        """The other side tells how far it is; the wait begins anew."""
        try:
            entry = self._waiting.get(read_progress(params))
        except msgspec.DecodeError:
            log.warning("malformed progress ignored")
            return
        if entry is None:
            return
        self._extend(entry, entry.timeout_s)
        if entry.on_progress is not None:
            entry.on_progress(params)

    def extend(self, context: object, timeout_s: float | None = None) -> None:
        """Let the requests of a context wait so long from now on; without a time, as long as they might at first."""
        for entry in self._waiting.values():
            if entry.context is context:
                self._extend(entry, entry.timeout_s if timeout_s is None else max(timeout_s, entry.timeout_s))

    def _extend(self, entry: Outbound, wait_s: float) -> None:
        loop = asyncio.get_running_loop()
        if entry.deadline:
            self._set(entry, loop.time() + wait_s, loop)
        elif entry.scope is not None and not entry.scope.expired():
            # Once it has expired, even in this very turn, it is too late.
            entry.scope.reschedule(loop.time() + wait_s)

    def context_of(self, message_id: RequestId) -> object:
        """The context of a request that waits for its answer; None when it does not wait any more."""
        entry = self._waiting.get(message_id)
        return None if entry is None else entry.context

    def contexts(self) -> Sequence[object]:
        """The contexts of all requests that wait for their answers, each once, the oldest first."""
        return list(dict.fromkeys(entry.context for entry in self._waiting.values() if entry.context is not None))

    def fail(self, message_id: RequestId, error: LimenError) -> None:
        """Let the one who waits for this answer have an error instead."""
        entry = self._waiting.get(message_id)
        if entry is not None and not entry.future.done():
            entry.future.set_exception(error)

    def fail_lone(self, error: LimenError) -> bool:
        """The same for the only one who waits; False when nobody does, or more than one."""
        if len(self._waiting) != 1:
            return False
        self.fail(next(iter(self._waiting)), error)
        return True

    def close(self) -> None:
        """Fail whatever still waits."""
        self._disarm()
        for entry in self._waiting.values():
            if not entry.future.done():
                entry.future.set_exception(ChannelClosed("the other side is gone"))

    def _set(self, entry: Outbound, at: float, loop: asyncio.AbstractEventLoop) -> None:
        entry.deadline = at
        if self._timer is None or at < self._rings_at:
            self._arm(at, loop)

    def _arm(self, at: float, loop: asyncio.AbstractEventLoop) -> None:
        self._disarm()
        self._rings_at = at
        self._timer = loop.call_at(at, self._ring, loop)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time() + TICK_S
        sent = [entry for entry in self._waiting.values() if entry.deadline and not entry.future.done()]
        for entry in sent:
            if entry.deadline <= now:
                entry.future.set_exception(TimeoutError())
        later = [entry.deadline for entry in sent if entry.deadline > now]
        if later:
            self._arm(min(later), loop)
