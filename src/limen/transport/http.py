"""The client side of Streamable HTTP, both revisions, as a channel. Knows no MCP beyond what the transport rules name.

Each frame is a POST of its own and no request waits for another. `send` returns once the server has taken
the frame, that is, once it answers with a status; so its failures reach the one who sent it, typed.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from limen.errors import ChannelClosed, LimenError, TooLarge, Unreachable, UpstreamError
from limen.protocol.frames import RequestId
from limen.protocol.headers import SESSION_HEADER, VERSION_HEADER
from limen.protocol.refusals import refusal
from limen.protocol.versions import STATELESS_REVISION
from limen.transport.httpendpoint import (
    EVENT_STREAM,
    Endpoint,
    HttpOptions,
    is_event_stream,
    media_type,
    open_endpoint,
)
from limen.transport.httpfailure import answered_error, failure
from limen.transport.httpmessage import CANCELLED, Outgoing, is_reply_to, read_outgoing
from limen.transport.lane import Lane
from limen.transport.sse import Event, EventParser, Oversized

if TYPE_CHECKING:
    import httpx2

__all__ = ["HttpChannel", "HttpOptions", "open_http"]

log = logging.getLogger(__name__)

CAPACITY: Final = 256
"""Frames that may wait for the reader before response streams do."""
FAREWELL_S: Final = 2.0
"""How long ending the session at the server may take."""
LINGER_S: Final = 1.0
"""How long a stream may stay open after its reply, for the sake of reusing its connection."""
LISTEN_S: Final = 0.3
"""How long the end of the handshake waits for the server's own stream, so that its first words are not missed."""
RECONNECT_S: Final = 1.0
"""The pause before a broken stream is resumed, unless the server named one."""
MOST_RECONNECTS: Final = 5
"""Failures in a row after which a stream is given up."""

_READ, _FAILED, _REFUSED = "read", "failed", "refused"


@asynccontextmanager
async def open_http(url: str, options: HttpOptions) -> AsyncGenerator["HttpChannel"]:
    """A channel to the server at `url`; nothing is sent before the first frame is."""
    body_error: BaseException | None = None
    async with open_endpoint(url, options) as endpoint, asyncio.TaskGroup() as group:
        channel = HttpChannel(endpoint, group)
        try:
            yield channel
        except BaseException as error:  # noqa: BLE001 - raised again outside the group, which would wrap it
            body_error = error
        finally:
            await channel.aclose()
    if body_error is not None:
        raise body_error


class _Heard(NamedTuple):
    """A frame that came on the stream of a request."""

    frame: bytes
    about: RequestId


@dataclass(slots=True)
class _Flight:
    """A request on its way, as long as nothing has answered it."""

    id: RequestId
    is_stateless: bool
    task: "asyncio.Task[None] | None" = None
    is_answered: bool = False


@dataclass(slots=True)
class _Cursor:
    """How far one event stream has been read, over all its connections."""

    flight: _Flight | None = None
    """The request whose stream it is; None for the one that belongs to no request."""
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the server has said yes or no to the first connection."""
    last_event_id: str = ""
    pause_s: float = RECONNECT_S

    @property
    def is_done(self) -> bool:
        return self.flight is not None and (self.flight.is_answered or self.flight.is_stateless)


class HttpChannel:
    """Frames to and from one MCP endpoint."""

    def __init__(self, endpoint: Endpoint, group: asyncio.TaskGroup) -> None:
        self.protocol_version: str | None = None
        """The revision agreed upon; set it after the handshake, it is sent with every message from then on."""
        self.session_id: str | None = None
        self.mirror = endpoint.options.mirror
        """Gives the `Mcp-Param-*` headers of a stateless `tools/call`."""
        self._endpoint = endpoint
        self._group = group
        self._inbox: Lane[bytes | _Heard] = Lane(CAPACITY)
        self._origin: RequestId | None = None
        self._flights: dict[RequestId, _Flight] = {}
        self._sending: set[asyncio.Timeout] = set()
        self._listener: asyncio.Task[None] | None = None
        self._is_closed = False

    async def receive(self) -> bytes | None:
        """The next frame from any response or event stream; None once the channel is closed.

        Raises:
            TooLarge: an event that answers no request was past the limit.
        """
        found = await self._inbox.get()
        if isinstance(found, _Heard):
            self._origin = found.about
            return found.frame
        self._origin = None
        return found

    def origin(self) -> RequestId | None:
        """The request whose own stream brought the frame that was received last."""
        return self._origin

    async def send(self, frame: bytes) -> None:
        """Post one frame and wait until the server has taken it.

        Raises:
            Unreachable: no connection, or no MCP endpoint at the other end of it.
            AuthRequired: the server wants credentials; the facts carry its challenge.
            SessionNotFound: the session has ended; initialize again on this channel.
            TooLarge: the answer is past the limit.
            UpstreamError: the server refuses the message, in no other words than a status.
            ChannelClosed: the channel is closed, or a reply could not be delivered.
        """
        if self._is_closed:
            raise ChannelClosed("the channel is closed")
        message = read_outgoing(frame)
        try:
            async with asyncio.timeout(None) as scope:
                self._sending.add(scope)
                try:
                    await self._send(frame, message)
                finally:
                    self._sending.discard(scope)
        except TimeoutError:
            raise ChannelClosed("the channel was closed before the server answered") from None

    async def _send(self, frame: bytes, message: Outgoing) -> None:
        if message.is_request:
            await self._ask(frame, message)
        elif message.method == CANCELLED:
            await self._withdraw(frame, message)
        elif message.method is not None:
            await self._tell(frame, message)
        else:
            await self._reply(frame, message)

    async def _ask(self, frame: bytes, message: Outgoing) -> None:
        assert message.id is not None
        flight = self._flights[message.id] = _Flight(message.id, is_stateless=message.version is not None)
        if message.method == "initialize":
            self._forget_session()
        try:
            response = await self._post(frame, message)
            if message.method == "initialize" and response.is_success:
                self.session_id = response.headers.get(SESSION_HEADER)
            if is_event_stream(response):
                flight.task = self._group.create_task(self._follow(_Cursor(flight), response))
            else:
                await self._take_whole(flight, response)
        finally:
            if flight.task is None:
                self._flights.pop(flight.id, None)

    async def _take_whole(self, flight: _Flight, response: "httpx2.Response") -> None:
        body = await self._endpoint.read(response)
        status, has_session = response.status_code, SESSION_HEADER in response.request.headers
        if status == 200 and media_type(response) == "application/json":
            await self._inbox.put(body)
            return
        # These mean the session or the credentials, whatever the body says.
        is_about_caller = status in (401, 403) or (status == 404 and has_session)
        told = None if is_about_caller else answered_error(body, flight.id)
        if told is not None:
            await self._inbox.put(told)
        elif response.is_success:
            raise UpstreamError("the server took a request without answering it", status=status)
        else:
            raise failure(status, response.headers, body, has_session=has_session)

    async def _tell(self, frame: bytes, message: Outgoing) -> None:
        response = await self._post(frame, message)
        body = await self._endpoint.read(response)
        if not response.is_success:
            has_session = SESSION_HEADER in response.request.headers
            raise failure(response.status_code, response.headers, body, has_session=has_session)
        if message.method == "notifications/initialized" and self._listener is None:
            cursor = _Cursor()
            self._listener = self._group.create_task(self._listen(cursor))
            with suppress(TimeoutError):
                async with asyncio.timeout(LISTEN_S):
                    await cursor.answered.wait()

    async def _reply(self, frame: bytes, message: Outgoing) -> None:
        try:
            response = await self._post(frame, message)
            await self._endpoint.read(response)
        except LimenError as error:
            raise ChannelClosed("the reply could not be delivered", reason=str(error)) from error
        if not response.is_success:
            log.warning("the server refused a reply", extra={"status": response.status_code, "request_id": message.id})

    async def _withdraw(self, frame: bytes, message: Outgoing) -> None:
        flight = None if message.withdraws is None else self._flights.get(message.withdraws)
        is_stateless = flight.is_stateless if flight else self.protocol_version in (None, STATELESS_REVISION)
        if not is_stateless:
            await self._tell(frame, message)
        # For stateless requests the end of the stream is the whole message.
        if flight is not None and flight.task is not None:
            flight.task.cancel()

    def _forget_session(self) -> None:
        self.session_id = None
        self.protocol_version = None
        if self._listener is not None:
            self._listener.cancel()
            self._listener = None

    async def _follow(self, cursor: _Cursor, response: "httpx2.Response") -> None:
        """Read a request's own stream to its reply, through as many connections as that takes."""
        flight = cursor.flight
        assert flight is not None
        try:
            await self._read_events(cursor, response)
            if not cursor.is_done and cursor.last_event_id:
                await self._resume(cursor)
            if not flight.is_answered:
                error = Unreachable("the server ended the stream before its answer")
                await self._inbox.put(refusal(flight.id, error))
        except ChannelClosed:
            log.debug("stream dropped, the channel is closed")
        finally:
            self._flights.pop(flight.id, None)

    async def _listen(self, cursor: _Cursor) -> None:
        """Hear what the server has to say without being asked, for as long as the session lives."""
        try:
            if await self._connect(cursor) != _REFUSED:
                await self._resume(cursor)
        except ChannelClosed:
            log.debug("stream dropped, the channel is closed")

    async def _resume(self, cursor: _Cursor) -> None:
        """Go on after the last event, again and again, for as long as the server lets us."""
        failures = 0
        while failures < MOST_RECONNECTS and not cursor.is_done:
            await asyncio.sleep(cursor.pause_s * 2**failures)
            outcome = await self._connect(cursor)
            if outcome == _REFUSED:
                return
            failures = failures + 1 if outcome == _FAILED else 0
        if cursor.flight is None:
            log.warning("event stream given up", extra={"url": self._endpoint.url, "failures": failures})

    async def _connect(self, cursor: _Cursor) -> str:
        """Read one connection of a stream to its end."""
        headers = {"accept": EVENT_STREAM, **self._session_headers()}
        if cursor.last_event_id:
            headers["last-event-id"] = cursor.last_event_id
        try:
            response = await self._endpoint.exchange("GET", headers)
        except LimenError as error:
            log.debug("event stream not opened", extra={"reason": str(error)})
            return _FAILED if error.retryable else _REFUSED
        finally:
            cursor.answered.set()
        if is_event_stream(response):
            await self._read_events(cursor, response)
            return _READ
        await response.aclose()
        if response.status_code >= 500:
            return _FAILED
        # 405 is the ordinary way to say that there is no such stream.
        if response.status_code != 405:
            log.info("event stream refused", extra={"url": self._endpoint.url, "status": response.status_code})
        return _REFUSED

    async def _read_events(self, cursor: _Cursor, response: "httpx2.Response") -> None:
        """Hand on every event of one connection until it ends; one that breaks has ended too."""
        parser, flight = EventParser(self._endpoint.options.limit_bytes), cursor.flight
        try:
            async with asyncio.timeout(None) as patience, aclosing(self._endpoint.chunks(response)) as chunks:
                async for chunk in chunks:
                    for event in parser.feed(chunk):
                        await self._take_event(event, flight)
                    cursor.last_event_id = parser.last_event_id or cursor.last_event_id
                    if parser.retry_ms is not None:
                        cursor.pause_s = parser.retry_ms / 1000
                    if flight is not None and flight.is_answered and patience.when() is None:
                        patience.reschedule(asyncio.get_running_loop().time() + LINGER_S)
        except (TimeoutError, Unreachable) as error:
            log.debug("event stream broke off", extra={"reason": str(error)})
        finally:
            await response.aclose()

    async def _take_event(self, event: Event | Oversized, flight: _Flight | None) -> None:
        if isinstance(event, Oversized):
            error = TooLarge(
                f"an event is longer than the limit of {self._endpoint.options.limit_bytes} bytes", limit="frame_bytes"
            )
            if flight is None:
                await self._inbox.put(error)
            elif not flight.is_answered:
                # It cannot be told whether this was the answer; waiting for another could be for ever.
                flight.is_answered = True
                await self._inbox.put(refusal(flight.id, error))
        elif event.data and event.event == "message":
            if flight is None:
                await self._inbox.put(event.data)
                return
            await self._inbox.put(_Heard(event.data, flight.id))
            if is_reply_to(event.data, flight.id):
                flight.is_answered = True

    async def _post(self, frame: bytes, message: Outgoing) -> "httpx2.Response":
        headers = {"content-type": "application/json", "accept": f"application/json, {EVENT_STREAM}"}
        if message.version is None:
            headers.update(self._session_headers())
        else:
            headers.update(message.headers(self.mirror))
        return await self._endpoint.exchange("POST", headers, frame)

    def _session_headers(self) -> dict[str, str]:
        found = {SESSION_HEADER: self.session_id, VERSION_HEADER: self.protocol_version}
        return {name: value for name, value in found.items() if value is not None}

    async def aclose(self) -> None:
        """Close every stream and tell the server that the session is over."""
        if self._is_closed:
            return
        self._is_closed = True
        self._inbox.end()
        for scope in self._sending:
            scope.reschedule(asyncio.get_running_loop().time())
        for task in (self._listener, *(flight.task for flight in self._flights.values())):
            if task is not None:
                task.cancel()
        if self.session_id is not None:
            await self._end_session()

    async def _end_session(self) -> None:
        with suppress(LimenError, TimeoutError):
            async with asyncio.timeout(FAREWELL_S):
                response = await self._endpoint.exchange("DELETE", self._session_headers())
                await response.aclose()
        self.session_id = None
