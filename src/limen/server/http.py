"""The HTTP door: `/mcp` for both revisions, `/healthz`, and nothing else without passing the guard.

Speaks bare ASGI: a framework's routing and response objects would be made anew for every call.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, Final

import msgspec

from limen import __version__
from limen.calls.call import Caller
from limen.clock import monotonic
from limen.errors import LimenError, Overloaded, ProtocolError, SessionNotFound, face_of
from limen.protocol.frames import Notification, Request, find_id, parse
from limen.protocol.versions import SESSION_REVISION, STATELESS_REVISION
from limen.server.body import read_body
from limen.server.events import LIVE, Reader
from limen.server.guard import Guard
from limen.server.httpsession import HttpSession, PostStream, SessionStore
from limen.server.responses import Receive, Scope, Send, Visit, send_error, send_json, send_status, send_stream
from limen.server.stateless import Stateless, is_stateless
from limen.server.statelesshttp import StatelessPosts
from limen.server.surface import Surface
from limen.server.watch import Watch
from limen.transport.eager import run_eagerly

__all__ = ["HttpDoor", "HttpLimits", "Identify", "Route"]

log = logging.getLogger(__name__)

SWEEP_S: Final = 30.0

Identify = Callable[[Scope], Caller]
Route = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Bounds of the door; all of them settings."""

    body_bytes: int = 4 * 1024 * 1024
    keepalive_s: float = 15.0
    session_idle_s: float = 1800.0
    max_sessions: int = 10_000
    event_buffer: int = 256
    send_queue: int = 256


@dataclass(slots=True)
class HttpDoor:
    """An ASGI application that serves one surface."""

    surface: Surface
    guard: Guard
    identify: Identify
    limits: HttpLimits = field(default_factory=HttpLimits)
    more_routes: dict[str, Route] = field(default_factory=dict[str, Route])
    """Further exact paths, for the layers above."""
    more_prefixes: dict[str, Route] = field(default_factory=dict[str, Route])
    """Further paths by their first segment, `/v1` for one, for the layers above."""
    sessions: SessionStore = field(init=False)
    _stateless: StatelessPosts = field(init=False)
    _group: asyncio.TaskGroup | None = None
    _since: float = field(default_factory=monotonic)

    def __post_init__(self) -> None:
        limits = self.limits
        self.sessions = SessionStore(self.surface, limits.max_sessions, limits.session_idle_s, limits.event_buffer)
        self._stateless = StatelessPosts(Stateless(self.surface), self.spawn, limits.keepalive_s, limits.send_queue)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["HttpDoor", None]:
        """While this is open, requests are served; calls in flight at its end are cancelled and recorded."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                sweeper = group.create_task(self._sweep())
                try:
                    yield self
                finally:
                    sweeper.cancel()
                    self.sessions.close()
        finally:
            self._group = None

    def stop(self) -> None:
        """End what would never end by itself: event streams and listeners."""
        self.sessions.hush()
        self._stateless.stop()

    def cut(self) -> None:
        """Give up the calls that still run; each is answered and recorded as cancelled."""
        self.sessions.close()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(min(SWEEP_S, self.limits.session_idle_s))
            self.sessions.expire()

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http":
            return _nothing()
        refused = self.guard.check(scope["headers"])
        if refused is not None:
            body = msgspec.json.encode({"error": {"code": "denied", "message": refused.reason}})
            return send_json(send, body, status=refused.status)
        path = scope["path"]
        if path == "/mcp":
            return self._mcp(scope, receive, send)
        if path == "/healthz":
            return send_json(send, self._health())
        route = self.more_routes.get(path) or self.more_prefixes.get(_first_segment(path))
        if route is not None:
            return route(scope, receive, send)
        return send_json(send, b'{"error":{"code":"not_found","message":"no such path"}}', status=404)

    def _health(self) -> bytes:
        uptime_s = round(monotonic() - self._since, 1)
        health = {"status": "ok", "version": __version__, "uptime_s": uptime_s, "sessions": len(self.sessions)}
        return msgspec.json.encode(health)

    async def _mcp(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            visit = Visit(self.identify(scope), scope, receive, send)
            match visit.scope["method"]:
                case "POST":
                    await self._post(visit)
                case "GET":
                    await self._get(visit)
                case "DELETE":
                    self.sessions.remove(self._session(visit))
                    await send_status(visit.send, 204)
                case _:
                    await send_status(visit.send, 405, (b"allow", b"GET, POST, DELETE"))
        except LimenError as error:
            await send_error(send, error, face_of(error).http)

    async def _post(self, visit: Visit) -> None:
        refused = _wrong_media(visit.raw_header(b"content-type"), visit.raw_header(b"accept"))
        if refused:
            await send_status(visit.send, refused)
            return
        body = await read_body(visit, self.limits.body_bytes)
        if body is None:
            return
        revision = STATELESS_REVISION if _names_stateless(visit) else SESSION_REVISION
        try:
            frame = parse(body, self.surface.limits)
        except ProtocolError as error:
            await send_error(visit.send, error, face_of(error).http, message_id=find_id(body), revision=revision)
            return
        if isinstance(frame, Request):
            if revision == STATELESS_REVISION or is_stateless(frame):
                await self._stateless.answer(visit, frame)
            else:
                await self._post_request(visit, frame)
        elif revision == STATELESS_REVISION:
            # Nothing a stateless client may tell over HTTP changes anything here; answers it must not send.
            await send_status(visit.send, 202 if isinstance(frame, Notification) else 400)
        else:
            session = self._session(visit)
            session.dispatcher.accept(frame)
            await send_status(visit.send, 202)

    async def _post_request(self, visit: Visit, request: Request) -> None:
        if request.method == "initialize" and not visit.raw_header(b"mcp-session-id"):
            await self._initialize(visit, request)
            return
        session = self._session(visit)
        stream = PostStream(session, lambda: Reader(self.limits.send_queue, visit.line.abort))
        watch = Watch(stream, self.spawn, partial(self._stream, visit), self.limits.keepalive_s)
        try:
            reply = await run_eagerly(_answer_post(session, request, stream), watch.begin)
        except BaseException:
            watch.drop()
            raise
        if not await watch.finish():
            await visit.reply(reply)

    async def _initialize(self, visit: Visit, request: Request) -> None:
        session = self.sessions.create(visit.caller)
        settled = await session.session.open(request, session.publish)
        if settled.code:
            await send_json(visit.send, settled.frame, status=400)
            return
        self.sessions.add(session)
        await send_json(visit.send, settled.frame, extra=((b"mcp-session-id", session.id.encode()),))

    async def _get(self, visit: Visit) -> None:
        if _names_stateless(visit):
            await send_status(visit.send, 405, (b"allow", b"POST"))
            return
        if not _accepts(visit.raw_header(b"accept"), b"text/event-stream"):
            await send_status(visit.send, 406)
            return
        session = self._session(visit)
        reader = Reader(self.limits.send_queue, visit.line.abort)
        last_event_id = visit.header(b"last-event-id")
        stream = None if last_event_id is None else session.events.replay(last_event_id, reader)
        if stream is None:
            stream = LIVE
            session.events.listen(reader)
        session.busy += 1
        try:
            await self._stream(visit, reader)
        finally:
            session.busy -= 1
            session.events.detach(stream, reader)

    async def _stream(self, visit: Visit, reader: Reader) -> None:
        """Write events until the reader is finished or the client is gone."""
        remove = visit.line.on_close(reader.finish)
        try:
            await send_stream(visit.send, reader, keepalive_s=self.limits.keepalive_s)
        finally:
            remove()

    def spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Run something beside a request, for no longer than this door is open."""
        if self._group is None:
            work.close()
            raise Overloaded("the hub is shutting down")
        return self._group.create_task(work)

    def _session(self, visit: Visit) -> HttpSession:
        """The session a request names, if it is its caller's and speaks its revision."""
        session_id = visit.header(b"mcp-session-id")
        if session_id is None:
            raise ProtocolError("Mcp-Session-Id is missing; send initialize first", field="Mcp-Session-Id")
        session = self.sessions.get(session_id, visit.caller.subject)
        version = visit.header(b"mcp-protocol-version")
        if version is not None and version != SESSION_REVISION:
            raise ProtocolError(
                f"MCP-Protocol-Version is {version!r}, this session speaks {SESSION_REVISION}",
                field="MCP-Protocol-Version",
            )
        return session


async def _answer_post(session: HttpSession, request: Request, stream: PostStream) -> bytes:
    session.busy += 1
    try:
        reply = await session.dispatcher.answer(request, stream)
    finally:
        session.busy -= 1
    if reply is None:
        raise SessionNotFound("the session ended")
    if stream.is_open:
        stream.end(reply)
    return reply


async def _nothing() -> None:
    pass


def _first_segment(path: str) -> str:
    return "/" + path[1:].partition("/")[0]


def _names_stateless(visit: Visit) -> bool:
    return visit.header(b"mcp-protocol-version") == STATELESS_REVISION


def _accepts(accept: bytes, media: bytes) -> bool:
    family = media.partition(b"/")[0] + b"/*"
    return media in accept or b"*/*" in accept or family in accept


@lru_cache(maxsize=256)
def _wrong_media(content_type: bytes, accept: bytes) -> int:
    """The status for a request that does not speak JSON both ways, 0 when it does."""
    if content_type.partition(b";")[0].strip().lower() != b"application/json":
        return 415
    if not _accepts(accept, b"application/json") or not _accepts(accept, b"text/event-stream"):
        return 406
    return 0
