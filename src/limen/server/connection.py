"""One client on a stream (stdio, memory): both revisions side by side, each request judged by what it carries."""

import asyncio
import logging
from collections.abc import Awaitable
from typing import Final

from limen.calls.call import Caller
from limen.errors import ChannelClosed
from limen.protocol.frames import Notification, Request
from limen.server.session import Session
from limen.server.stateless import Stateless, is_stateless
from limen.server.surface import Surface
from limen.transport.channel import Channel
from limen.transport.dispatcher import Dispatcher, Outlet

__all__ = ["serve_channel"]

log = logging.getLogger(__name__)

OUTBOX: Final = 256


class _Connection:
    """Routes each request to the revision it belongs to."""

    def __init__(self, surface: Surface, caller: Caller, channel: Channel) -> None:
        self.dispatcher = Dispatcher(self, channel.send, surface.limits, frozenset({"subscriptions/listen"}))
        self.session = Session(surface, caller, self.dispatcher, self._tell)
        self.stateless = Stateless(surface)
        self._caller = caller
        self._outbox: asyncio.Queue[bytes] = asyncio.Queue(OUTBOX)

    def answer(self, request: Request, outlet: Outlet) -> Awaitable[bytes | None]:
        if is_stateless(request):
            return self.stateless.answer(request, self._caller, outlet)
        return self.session.answer(request, outlet)

    def withdrawn(self, request: Request) -> bytes | None:
        return None if is_stateless(request) else self.session.withdrawn(request)

    def hear(self, notification: Notification) -> None:
        self.session.hear(notification)

    def _tell(self, frame: bytes) -> None:
        if self._outbox.full():
            log.warning("notification dropped, the client reads too slowly")
        else:
            self._outbox.put_nowait(frame)

    async def pump(self, channel: Channel) -> None:
        """Send what belongs to no request, in order."""
        try:
            while True:
                await channel.send(await self._outbox.get())
        except ChannelClosed:
            log.info("client gone")


async def serve_channel(surface: Surface, caller: Caller, channel: Channel) -> None:
    """Serve one client until it stops sending."""
    connection = _Connection(surface, caller, channel)
    try:
        async with asyncio.TaskGroup() as group:
            pump = group.create_task(connection.pump(channel))
            try:
                await connection.dispatcher.serve(channel)
            finally:
                pump.cancel()
    finally:
        connection.session.close()
