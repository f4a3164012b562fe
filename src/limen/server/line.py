"""One HTTP connection under watch: deadlines, size caps and a handle for the app; it never looks into a request."""

import sys
from asyncio import Event
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from asyncio import Transport

    from uvicorn._types import ASGI3Application
    from uvicorn.config import Config
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
    from uvicorn.server import ServerState
else:
    # uvicorn costs more to import than all of `limen stdio`: the listener puts its protocol under WatchedLine when
    # the first door is opened.
    HttpToolsProtocol = object

from limen.server.joined import Joined
from limen.server.linelimits import BAD_REQUEST, TOO_LARGE, TOO_MANY, TOO_SLOW, ListenLimits
from limen.transport.eager import Understudy

__all__ = ["LINE", "Line", "Peers", "WatchedLine"]

LINE: Final = "limen.line"
"""Where an app finds the Line of its request in the ASGI scope."""

PIECE: Final = 8 * 1024
"""How much the parser gets at a time while headers may grow past their cap, which is therefore exact to a piece."""

BARE_BYTES: Final = 512 * 1024
"""What may come in a row that is no body for anyone: trailers, chunk extensions, the rest of an answered request."""

PIPELINED: Final = 64
"""Requests that may wait behind one another on a connection."""


class Line(Protocol):
    """The connection a request came on."""

    def abort(self) -> None:
        """Drop the connection now; what was not sent yet is discarded."""
        ...

    def on_close(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Have the callback run once if the connection ends before the response does; returns a remover.

        On a connection that is gone already it runs at once. It must not raise.
        """
        ...

    def take_body(self, scope: dict[str, Any]) -> bytes | None:
        """What is unread of the body of this request, if the end of it has come; None leaves it to `receive`."""
        ...

    def respond(self, scope: dict[str, Any], head: bytes, body: bytes) -> bool:
        """Send a whole response to this request, in a tenth of the steps that `send` takes.

        The head is a status line and headers; the date and the length are added. False leaves it to `send`: the
        response has begun, the connection is to end with it, or its reader is slow.
        """
        ...


class Reading(Enum):
    """How far the next request has been read."""

    NOTHING = "nothing of it yet"
    HEAD = "the request line, headers"
    BODY = "all headers, some body"


_NOTHING, _HEAD, _BODY = Reading.NOTHING, Reading.HEAD, Reading.BODY


@dataclass(frozen=True, slots=True)
class Peers:
    """The open connections of one listener, and what they are granted."""

    limits: ListenLimits
    understudy: Understudy
    """Begins to answer their requests."""
    lines: "set[WatchedLine]" = field(default_factory=lambda: set[WatchedLine]())
    lost: Event = field(default_factory=Event)
    """Set whenever one of them ends."""


class WatchedLine(HttpToolsProtocol):
    """A connection of uvicorn that nobody can hold open for nothing.

    A timer per request would cost more than the rest of this class, so a connection only notes when its patience
    ends, and the listener walks over all of them (`sweep`) a few times a second.
    """

    def __init__(self, config: "Config", state: "ServerState", peers: "Peers") -> None:
        super().__init__(config, state, {})
        self._peers = peers
        self._limits = limits = peers.limits
        self._piece = min(PIECE, limits.max_header_bytes)
        self._reading = _NOTHING
        self._due = inf
        self._began = 0.0
        self._head_bytes = 0
        self._bare_bytes = 0
        self._owed = 0
        self._declined_at = 0
        self._request_ended = False
        self._unsent = 0
        self._unsent_since = 0.0
        self._served: RequestResponseCycle | None = None
        self._joined: Joined | None = None
        self._watchers: dict[object, Callable[[], object]] = {}
        self._is_over = False
        self._is_feeding = False
        self._arrived: tuple[RequestResponseCycle, ASGI3Application] | None = None

    def abort(self) -> None:
        """Drop the connection now; what was not sent yet is discarded."""
        self.transport.abort()

    def on_close(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Have the callback run once if the connection ends before the response does; returns a remover."""
        if self._is_over:
            callback()
            return lambda: None
        key = object()
        self._watchers[key] = callback

        def remove() -> None:
            self._watchers.pop(key, None)

        return remove

    def take_body(self, scope: dict[str, Any]) -> bytes | None:
        cycle = self._served
        if cycle is None or cycle.scope is not scope or cycle.more_body or cycle.disconnected:
            return None
        body = bytes(cycle.body)
        cycle.body.clear()
        cycle.message_event.clear()
        return body

    def respond(self, scope: dict[str, Any], head: bytes, body: bytes) -> bool:
        cycle = self._served
        if (
            cycle is None
            or cycle.scope is not scope
            or cycle.response_started
            or cycle.disconnected
            or not cycle.keep_alive
            or self.flow.write_paused
        ):
            return False
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        cycle.message_event.set()
        date = self.server_state.default_headers[0][1]
        self.transport.write(b"%bdate: %b\r\ncontent-length: %d\r\n\r\n%b" % (head, date, len(body), body))
        self.on_response_complete()
        return True

    def connection_made(self, transport: "Transport") -> None:
        if len(self._peers.lines) >= self._limits.max_connections:
            self._is_over = True
            self.transport = transport
            transport.write(TOO_MANY)
            transport.close()
            return
        super().connection_made(transport)
        self._peers.lines.add(self)
        self._began = self.loop.time()
        self._due = self._began + self._limits.header_timeout_s

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._peers.lines.discard(self)
        self._peers.lost.set()
        self._is_over = True
        served, self._served = self._served, None
        self._joined = None
        if served is not None and not served.response_complete:
            # uvicorn tells the newest request only, which with pipelining is not the one being served.
            served.disconnected = True
            served.message_event.set()
        self.pipeline.clear()
        # The scope holds this line; without it the whole connection is freed at once and not by the collector.
        del self.scope, self.cycle
        watchers, self._watchers = self._watchers, {}
        for callback in watchers.values():
            callback()

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        if len(data) > self._piece and self._reading is not _BODY:
            self._feed_in_pieces(data)
        else:
            self._feed(data)

    def _feed_in_pieces(self, data: bytes) -> None:
        rest = data
        while rest and not self.transport.is_closing():
            size = len(rest) if self._reading is _BODY else self._piece
            self._feed(rest[:size])
            rest = rest[size:]

    def _feed(self, data: bytes) -> None:
        self._request_ended = False
        if self._owed:
            data = self._feed_owed(data)
        if data:
            self._is_feeding = True
            super().data_received(data)
            self._is_feeding = False
            if self._arrived is not None:
                self._begin(*self._arrived)
        if self._declined_at:
            at, self._declined_at = self._declined_at, 0
            if at < len(data):
                self._feed(data[at:])
            return
        # A request that came whole, which is nearly every one, ends here without a look at the clock.
        if self._reading is not _NOTHING and not self.transport.is_closing():
            self._note_unfinished(len(data))
        if self.pipeline and len(self.pipeline) > PIPELINED:
            self.transport.abort()

    def _unsupported_upgrade_warning(self) -> None:
        """Note where a request ends that offers another protocol: the parser stops there, and we decline."""
        offer = sys.exc_info()[1]
        self._declined_at = int(offer.args[0]) if offer else 0

    def _feed_owed(self, data: bytes) -> bytes:
        """Take the body that the parser left to the other protocol; returns what follows it."""
        body, rest = data[: self._owed], data[self._owed :]
        self._owed -= len(body)
        self.on_body(body)
        if not self._owed:
            self.on_message_complete()
        return rest

    def _note_unfinished(self, size: int) -> None:
        """Count what is there of a request that goes on in the next read, and start its clock."""
        now = self.loop.time()
        if self._began == inf:
            self._began = now
        if self._reading is _HEAD:
            # A read that also held the end of another request says nothing about the size of this one.
            self._head_bytes += 0 if self._request_ended else size
            self._due = self._began + self._limits.header_timeout_s
            if self._head_bytes > self._limits.max_header_bytes:
                self._refuse(TOO_LARGE)
        else:
            self._bare_bytes += size
            if self._due == inf:
                self._due = min(now + self._limits.body_timeout_s, self._began + self._limits.whole_request_s)
            if self._bare_bytes > BARE_BYTES:
                self._refuse(TOO_LARGE)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope[LINE] = self  # pyright: ignore[reportGeneralTypeIssues] -- a scope is open to keys with a dot
        self._reading = _HEAD
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        if self.parser and self.parser.should_upgrade():
            self._owed = next((int(value) for name, value in self.headers if name == b"content-length"), 0)
        # What follows a chunked body looks like headers to the parser; the app must not see its scope change.
        self.headers = []
        self._reading = _BODY
        self._due = inf
        self._bare_bytes = 0

    def on_body(self, body: bytes) -> None:
        if not self.cycle.response_complete:
            self._bare_bytes = 0
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self._owed:
            return
        super().on_message_complete()
        self._reading = _NOTHING
        self._due = self._began = inf
        self._request_ended = True

    def _start_asgi_task(self, cycle: "RequestResponseCycle", app: "ASGI3Application") -> None:
        self._served = cycle
        self._joined = Joined(cycle, self.transport)
        cycle.transport = self._joined  # pyright: ignore[reportAttributeAccessIssue] -- all that a cycle uses of one
        if self._is_feeding:
            self._arrived = cycle, app
        else:
            super()._start_asgi_task(cycle, app)

    def _begin(self, cycle: "RequestResponseCycle", app: "ASGI3Application") -> None:
        """Answer in the callback that brought the request, as far as that goes: its body is mostly there by now."""
        self._arrived = None
        understudy = self._peers.understudy
        if not understudy.is_ready():
            super()._start_asgi_task(cycle, app)
            return
        task = understudy.begin(cycle.run_asgi(app))
        if task is not None:
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    def on_response_complete(self) -> None:
        """Go on with the next request; idle time is counted by `sweep` and needs no timer."""
        served, self._served = self._served, None
        if self._joined is not None:
            self._joined.flush()
            self._joined = None
        if served is not None:
            # Each holds the other until here; let go, a request is freed at once and not by the collector.
            served.transport = self.transport
        self._watchers.clear()
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start_asgi_task(cycle, app)
        elif self._reading is _BODY and self.expect_100_continue:
            # The client was never told to go on, so its next bytes may be a body or a request; nobody can tell.
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        self._refuse(BAD_REQUEST)

    def sweep(self, now: float) -> None:
        """End this connection if its time is up."""
        before, self._unsent = self._unsent, self.transport.get_write_buffer_size()
        if before == 0 or self._unsent < before:
            self._unsent_since = now
        if now - self._unsent_since > self._limits.stall_timeout_s:
            self.transport.abort()
        elif now >= self._due:
            self._expire(now)
        elif self._due == inf and self._served is None and not self.transport.is_closing():
            self._due = now + self._limits.keep_alive_s

    def _expire(self, now: float) -> None:
        if self._reading is _BODY and self.flow.read_paused:
            # We hold the rest back ourselves, behind an earlier request or a busy app: that is not the client's time.
            self._due = now + self._limits.body_timeout_s
        elif self.transport.is_closing() or (self._reading is _NOTHING and not self.cycle):
            self.transport.abort()
        elif self._reading is not _NOTHING:
            self._refuse(TOO_SLOW)
        elif self._unsent == 0:
            self.transport.close()

    def _refuse(self, answer: bytes) -> None:
        """End the connection, with an answer where one can still be understood; the next sweep makes sure of it."""
        served = self._served
        if self._reading is _BODY:
            answerable = served is not None and served is self.cycle and not served.response_started
        else:
            answerable = served is None
        if not answerable:
            self.transport.abort()
            return
        if served is not None:
            served.disconnected = True
        self.transport.write(answer)
        self.transport.close()
        self._due = 0.0
