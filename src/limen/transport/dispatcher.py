"""JSON-RPC both ways over one connection: what is in flight, who waits for what, and how either side gives up.

Knows nothing of MCP beyond the two notifications that JSON-RPC lacks, `cancelled` and `progress`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol

import msgspec

from limen.errors import (
    ChannelClosed,
    LimenError,
    ProtocolError,
)
from limen.protocol.frames import (
    DEFAULT_LIMITS,
    EMPTY_PARAMS,
    ErrorReply,
    Frame,
    FrameLimits,
    Notification,
    Reply,
    Request,
    RequestId,
    encode_notification,
    find_id,
    parse,
)
from limen.protocol.refusals import refusal
from limen.transport.asking import Asking, Outlet
from limen.transport.channel import Attributing, Channel, Offering
from limen.transport.eager import Understudy, run_eagerly
from limen.transport.inflight import (
    MAX_IN_FLIGHT,
    Inbound,
    ProgressHandler,
    duplicate,
    overloaded,
    read_cancelled,
)

__all__ = ["Dispatcher", "Outlet", "ProgressHandler", "Service"]

log = logging.getLogger(__name__)

BREATH = 64
"""So many requests are answered in a row before others get their turn."""
DRAIN_S = 2.0
"""How long requests in flight may still finish after the other side stopped sending."""
ABANDON_S = 5.0
"""How long a cancelled request may take to clean up."""


class Service(Protocol):
    """Answers what the other side asks."""

    def answer(self, request: Request, outlet: Outlet) -> Awaitable[bytes | None]:
        """The whole reply frame, errors included; None to stay silent."""
        ...

    def withdrawn(self, request: Request) -> bytes | None:
        """The reply to a request that its sender took back; None to stay silent."""
        ...

    def hear(self, notification: Notification) -> None:
        """Take note; must not block."""
        ...


class Dispatcher(msgspec.Struct, eq=False):
    """One side of a JSON-RPC conversation."""

    service: Service
    outlet: Outlet
    """Where frames go that belong to no particular request."""
    limits: FrameLimits = DEFAULT_LIMITS
    endless: frozenset[str] = frozenset()
    """Methods whose answer never comes by itself, so that nobody waits for them at the end."""
    on_junk: Callable[[bytes, ProtocolError], None] | None = None
    """Told of what is no frame; without it the other side is."""
    _inbound: dict[RequestId, Inbound] = {}
    _asking: Asking = msgspec.field(default_factory=Asking)
    _at_work: "set[asyncio.Task[None]]" = set()
    _reader: "asyncio.Task[None] | None" = None
    _ended: "asyncio.Future[None] | None" = None
    _in_a_row: int = 0
    _understudy: Understudy | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _origin: Callable[[], RequestId | None] | None = None

    async def serve(self, channel: Channel) -> None:
        """Read the channel to its end and answer every request; returns after the last of them."""
        loop = self._loop = asyncio.get_running_loop()
        self._ended = loop.create_future()
        if isinstance(channel, Attributing):
            self._origin = channel.origin
        self._begin_reading(channel)
        if isinstance(channel, Offering):
            self._understudy = Understudy(loop)
            self._understudy.is_ready()
            channel.offer_to(self._take_at_once)
        try:
            await self._ended
            # Whoever waits for an answer waits in vain now, and what depends on it should not hold up the end.
            self.close()
            await self._drain()
        finally:
            if isinstance(channel, Offering):
                channel.offer_to(None)
            if self._understudy is not None:
                self._understudy.close()
            self._end()
            self.close()
            await self._abandon()

    def _begin_reading(self, channel: Channel) -> None:
        # A TaskGroup would add a callback to every task; `serve` sees each of these end as well.
        self._reader = asyncio.get_running_loop().create_task(self._read(channel))
        self._at_work.add(self._reader)

    async def _read(self, channel: Channel) -> None:
        """Read and answer, until the channel ends or somebody else is reading.

        A request is answered by the task that read it. Most are answered without ever waiting, and then nothing more
        is needed; when one has to wait, another task takes over the reading.
        """
        me = asyncio.current_task()
        try:
            while self._reader is me:
                frame = await self._receive(channel)
                if frame is None:
                    self._end()
                    return
                if type(frame) is Request:
                    await self._take(frame, channel)
                elif type(frame) is Reply:
                    self._asking.settle(frame)
                else:
                    self.accept(frame)
        except ChannelClosed:
            self._end()
        except Exception as error:  # noqa: BLE001 - whoever serves the channel hears of it
            self._end(error)
        finally:
            if me is not None:
                self._at_work.discard(me)

    def _end(self, error: Exception | None = None) -> None:
        if self._ended is None or self._ended.done():
            return
        if error is None:
            self._ended.set_result(None)
        else:
            self._ended.set_exception(error)

    async def _receive(self, channel: Channel) -> Frame | None:
        while True:
            data = b""
            try:
                data = await channel.receive()
                if data is None:
                    return None
                frame = parse(data, self.limits)
                return frame if self._origin is None else _attributed(frame, self._origin())
            except ProtocolError as error:
                if self.on_junk is not None:
                    self.on_junk(data or getattr(channel, "dropped", b""), error)
                else:
                    await self.outlet(refusal(find_id(data or b""), error))

    async def _take(self, request: Request, channel: Channel) -> None:
        if request.id in self._inbound:
            await self.outlet(duplicate(request))
            return
        if len(self._at_work) > MAX_IN_FLIGHT:
            # Sent from the reading task: a client that does not read its answers is not read from either.
            await self.outlet(overloaded(request))
            return
        self._in_a_row += 1
        if self._in_a_row % BREATH == 0:
            # Answers that never wait would otherwise keep everybody else waiting.
            await asyncio.sleep(0)
        await run_eagerly(self._answer_to_channel(request), lambda: self._begin_reading(channel))

    def _take_at_once(self, data: bytes) -> bool:
        """Deal with a frame that came alone, in the callback that brought it; whatever is unusual is left to `_read`.

        To wake a task costs as much as half of what it then does.
        """
        understudy = self._understudy
        if understudy is None or not understudy.is_ready() or len(self._at_work) > MAX_IN_FLIGHT:
            return False
        try:
            frame = parse(data, self.limits)
        except ProtocolError:
            return False
        if type(frame) is Reply:
            self._asking.settle(frame)
            return True
        if type(frame) is not Request:
            self._accept_at_once(frame)
            return True
        if frame.id in self._inbound:
            return False
        task = understudy.begin(self._answer_to_channel(frame))
        if task is not None:
            self._at_work.add(task)
            task.add_done_callback(self._at_work.discard)
        return True

    def _accept_at_once(self, frame: Frame) -> None:
        try:
            self.accept(frame)
        except Exception as error:  # noqa: BLE001 - whoever serves the channel hears of it
            self._end(error)

    async def _answer_to_channel(self, request: Request) -> None:
        try:
            reply = await self.answer(request, self.outlet)
            if reply is not None:
                await self.outlet(reply)
        except ChannelClosed:
            log.info("reply dropped, the client is gone", extra={"request_id": request.id})
        except Exception as error:  # noqa: BLE001 - whoever serves the channel hears of it
            self._end(error)

    async def answer(self, request: Request, outlet: Outlet) -> bytes | None:
        """Answer one request in the current task."""
        if request.id in self._inbound:
            return duplicate(request)
        if len(self._inbound) >= MAX_IN_FLIGHT:
            return overloaded(request)
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        entry = self._inbound[request.id] = Inbound(request.method, asyncio.current_task(self._loop))
        try:
            return await self.service.answer(request, outlet)
        except asyncio.CancelledError:
            # A withdrawal is meant for the request, not for the task that carries it; any other cancel goes on.
            if entry.withdrawn and entry.task is not None and entry.task.uncancel() == 0:
                return self.service.withdrawn(request)
            if entry.task is None or entry.task.cancelling():
                raise
            # Nobody cancelled this task: something was that its handler waited for, and the sender still waits.
            log.exception("request cut off by a cancel not meant for it", extra={"method": request.method})
            return refusal(request.id, LimenError("internal error; the hub's log has the details"))
        finally:
            del self._inbound[request.id]

    def accept(self, frame: Frame) -> None:
        """Take in anything but a request: answers, progress, cancellation, other news."""
        match frame:
            case Notification(method="notifications/cancelled"):
                self._withdraw(frame.params)
            case Notification(method="notifications/progress"):
                self._asking.advance(frame.params)
            case Notification():
                self.service.hear(frame)
            case Reply():
                self._asking.settle(frame)
            case ErrorReply():
                self._asking.settle(frame)
            case Request():
                raise ProtocolError("a request must be answered, not accepted")

    def _withdraw(self, params: bytes) -> None:
        try:
            entry = self._inbound.get(read_cancelled(params))
        except msgspec.DecodeError:
            log.warning("malformed cancellation ignored")
            return
        if entry is not None:
            entry.take_back()

    def withdraw_all(self) -> None:
        """Take back every request in flight, as if its sender had."""
        for entry in tuple(self._inbound.values()):
            entry.take_back()

    def request(  # noqa: PLR0913 - each is a fact about the request
        self,
        method: str,
        params: bytes = EMPTY_PARAMS,
        *,
        timeout_s: float,
        outlet: Outlet | None = None,
        on_progress: ProgressHandler | None = None,
        context: object = None,
    ) -> Coroutine[Any, Any, bytes]:
        """Ask the other side and wait for its result; each progress report starts the wait anew.

        `context` is found again with `context_of` and `contexts` for as long as the answer is awaited.

        Raises:
            RequestTimeout: no answer in time; the other side was told.
            RemoteError: it answered with an error.
            ChannelClosed: it is gone.
        """
        if self.is_over:
            # Whoever would see to it that this ends has gone home.
            raise ChannelClosed("the other side is gone")
        return self._asking.request(method, params, outlet or self.outlet, timeout_s, on_progress, context)

    async def notify(self, method: str, params: bytes = EMPTY_PARAMS, *, outlet: Outlet | None = None) -> None:
        """Tell the other side something."""
        await (outlet or self.outlet)(encode_notification(method, params))

    @property
    def is_over(self) -> bool:
        """Whether the channel that is served has ended, so that no answer can come any more."""
        return self._ended is not None and self._ended.done()

    def context_of(self, message_id: RequestId) -> object:
        """The context of a request that waits for its answer; None when it does not wait any more."""
        return self._asking.context_of(message_id)

    def contexts(self) -> Sequence[object]:
        """The contexts of all requests that wait for their answers, each once, the oldest first."""
        return self._asking.contexts()

    def extend(self, context: object, timeout_s: float | None = None) -> None:
        """Let the requests of a context wait so long from now on; without a time, as long as they might at first."""
        self._asking.extend(context, timeout_s)

    def fail(self, message_id: RequestId, error: LimenError) -> None:
        """Let the one who waits for this answer have an error instead."""
        self._asking.fail(message_id, error)

    def fail_lone(self, error: LimenError) -> bool:
        """The same for the only one who waits; False when nobody does, or more than one."""
        return self._asking.fail_lone(error)

    async def _drain(self) -> None:
        """Let requests in flight finish, for a while."""
        for entry in self._inbound.values():
            if entry.method in self.endless and entry.task is not None:
                entry.task.cancel()
        if self._at_work:
            await asyncio.wait(self._at_work, timeout=DRAIN_S)

    async def _abandon(self) -> None:
        """Cancel what is still in flight, and see it end; one that will not is reported and left behind."""
        for task in self._at_work:
            task.cancel()
        if self._at_work:
            _, stuck = await asyncio.wait(self._at_work, timeout=ABANDON_S)
            if stuck:
                log.error("requests ignore their cancellation", extra={"count": len(stuck)})

    def close(self) -> None:
        """Fail whatever still waits for an answer."""
        self._asking.close()


def _attributed(frame: Frame, about: RequestId | None) -> Frame:
    if about is None or not isinstance(frame, Request | Notification):
        return frame
    return msgspec.structs.replace(frame, about=about)
