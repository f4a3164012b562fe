"""The older HTTP+SSE for clients that know nothing else: one stream per client, and a POST for each of its messages.

A client that does not read is let go: whatever waits for it for five seconds, or a stream that takes nothing for a
minute, ends it. Its session belongs to whoever opened it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from secrets import token_urlsafe
from typing import Final
from urllib.parse import parse_qs

from limen.calls.call import Caller
from limen.errors import ChannelClosed, LimenError, Overloaded, SessionNotFound, face_of
from limen.server.body import read_body
from limen.server.connection import serve_channel
from limen.server.http import Identify, Route
from limen.server.responses import Receive, Scope, Send, Visit, send_error, send_status
from limen.server.surface import Surface
from limen.transport.lane import Lane
from limen.transport.sse import encode_event

__all__ = ["LegacyDoor", "LegacyLimits"]

log = logging.getLogger(__name__)

STREAM_PATHS: Final = ("/sse", "/mcp/sse")
MESSAGES_PATH: Final = "/messages"
PATIENCE_S: Final = 5.0
"""How long a message may wait for room."""
STUCK_S: Final = 60.0
"""How long the stream may take nothing."""
_HEAD: Final = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no")]


@dataclass(frozen=True, slots=True)
class LegacyLimits:
    """Bounds of the door."""

    body_bytes: int = 4 << 20
    keepalive_s: float = 15.0
    queue: int = 256
    sessions: int = 1000


class _Channel:
    """One client: what it posted, and what waits to be streamed to it."""

    def __init__(self, caller: Caller, limit: int, evict: Callable[[], None]) -> None:
        self.caller = caller
        self._inbox: Lane[bytes] = Lane(limit)
        self._outbox: deque[bytes] = deque()
        self._limit = limit
        self._evict = evict
        self._has_news = asyncio.Event()
        self._has_room = asyncio.Event()
        self.is_closed = False

    async def receive(self) -> bytes | None:
        """The next message of the client."""
        return await self._inbox.get()

    async def send(self, frame: bytes) -> None:
        """Queue one for it; a client that leaves no room is let go.

        Raises:
            ChannelClosed: it is gone.
        """
        if len(self._outbox) >= self._limit:
            await self._wait_for_room()
        if self.is_closed:
            raise ChannelClosed("the client is gone")
        self._outbox.append(frame)
        self._has_news.set()

    async def _wait_for_room(self) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                while len(self._outbox) >= self._limit and not self.is_closed:
                    self._has_room.clear()
                    await self._has_room.wait()
        except TimeoutError:
            log.warning("client of the older transport does not read, so it is let go")
            self.close()
            self._evict()

    async def post(self, frame: bytes) -> None:
        """Take a message the client posted.

        Raises:
            ChannelClosed: its stream has ended.
        """
        await self._inbox.put(frame)

    async def next(self, quiet_s: float) -> bytes | None:
        """What goes into the stream next: an event, or a comment after a while without one; None at the end."""
        try:
            async with asyncio.timeout(quiet_s):
                while not self._outbox and not self.is_closed:
                    self._has_news.clear()
                    await self._has_news.wait()
        except TimeoutError:
            return b": ping\n\n"
        if not self._outbox:
            return None
        self._has_room.set()
        return encode_event(self._outbox.popleft(), event="message")

    def close(self) -> None:
        """End it from either side."""
        self.is_closed = True
        self._inbox.end()
        self._has_news.set()
        self._has_room.set()

    async def aclose(self) -> None:
        """The same, for whoever serves it."""
        self.close()


@dataclass(slots=True)
class LegacyDoor:
    """Serves clients of the older transport beside the others."""

    surface: Surface
    identify: Identify
    limits: LegacyLimits = field(default_factory=LegacyLimits)
    _channels: dict[str, _Channel] = field(default_factory=dict[str, _Channel])

    @property
    def routes(self) -> dict[str, Route]:
        """What is served at an exact path."""
        return {**dict.fromkeys(STREAM_PATHS, self.stream), MESSAGES_PATH: self.message}

    def stop(self) -> None:
        """End every stream."""
        for channel in list(self._channels.values()):
            channel.close()

    async def stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Open a client's stream and serve it until either side has had enough."""
        if scope["method"] != "GET":
            await send_status(send, 405, (b"allow", b"GET"))
            return
        try:
            visit = Visit(self.identify(scope), scope, receive, send)
            if len(self._channels) >= self.limits.sessions:
                raise Overloaded(f"{self.limits.sessions} clients of the older transport are served already")
        except LimenError as error:
            await send_error(send, error, face_of(error).http)
            return
        session = token_urlsafe(24)
        channel = self._channels[session] = _Channel(visit.caller, self.limits.queue, visit.line.abort)
        remove = visit.line.on_close(channel.close)
        try:
            async with asyncio.TaskGroup() as group:
                writing = group.create_task(self._write(send, channel, f"{MESSAGES_PATH}?session_id={session}"))
                await serve_channel(self.surface, visit.caller, channel)
                channel.close()
                await asyncio.wait([writing], timeout=PATIENCE_S)
                writing.cancel()
        finally:
            remove()
            channel.close()
            del self._channels[session]

    async def _write(self, send: Send, channel: _Channel, place: str) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEAD})
        chunk: bytes | None = encode_event(place.encode(), event="endpoint")
        try:
            while chunk is not None:
                async with asyncio.timeout(STUCK_S):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                chunk = await channel.next(self.limits.keepalive_s)
            await send({"type": "http.response.body", "body": b""})
        except (TimeoutError, OSError) as error:
            log.info("stream of the older transport ended", extra={"reason": str(error) or type(error).__name__})
        finally:
            channel.close()

    async def message(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take one message of a client."""
        if scope["method"] != "POST":
            await send_status(send, 405, (b"allow", b"POST"))
            return
        try:
            visit = Visit(self.identify(scope), scope, receive, send)
            channel = self._find(scope, visit.caller)
            body = await read_body(visit, self.limits.body_bytes)
            if body is not None:
                await channel.post(body)
                await send_status(send, 202)
        except LimenError as error:
            await send_error(send, error, face_of(error).http)

    def _find(self, scope: Scope, caller: Caller) -> _Channel:
        session = parse_qs(scope["query_string"].decode("latin-1")).get("session_id", [""])[0]
        channel = self._channels.get(session)
        if channel is None or channel.caller.subject != caller.subject:
            raise SessionNotFound("session_id: no such stream is open; open one at /sse", field="session_id")
        return channel
