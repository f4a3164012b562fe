"""The client side of Streamable HTTP, both revisions, as a channel. Knows no MCP beyond what the transport rules name.

Each frame is a POST of its own and no request waits for another. `send` returns once the server has taken
the frame, that is, once it answers with a status; so its failures reach the one who sent it, typed.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from limen.errors import ChannelClosed, LimenError, TooLarge, Unreachable, UpstreamError
from limen.protocol.frames import RequestId
from limen.protocol.headers import SESSION_HEADER, VERSION_HEADER
from limen.protocol.refusals import refusal
from limen.protocol.versions import STATELESS_REVISION
from limen.transport.httpfailure import answered_error, failure
from limen.transport.httpmessage import CANCELLED, Mirror, Outgoing, read_incoming, read_outgoing
from limen.transport.lane import Lane
from limen.transport.sse import Event, EventParser

if TYPE_CHECKING:
    import httpx2

__all__ = ["HttpChannel", "HttpOptions", "open_http"]

log = logging.getLogger(__name__)

EVENT_STREAM: Final = "text/event-stream"
CAPACITY: Final = 256
"""Frames that may wait for the reader before response streams do."""
FAREWELL_S: Final = 2.0
"""How long ending the session at the server may take."""
LINGER_S: Final = 1.0
"""How long a stream may stay open after its reply, for the sake of reusing its connection."""
RECONNECT_S: Final = 1.0
"""The pause before a broken stream is resumed, unless the server named one."""
MOST_RECONNECTS: Final = 5
"""Failures in a row after which a stream is given up."""
ERROR_BODY_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """How to reach the server."""

    headers: Mapping[str, str]
    limit_bytes: int
    connect_timeout_s: float = 10.0
    write_timeout_s: float = 30.0
    mirror: Mirror | None = None
    """Gives the `Mcp-Param-*` headers of a stateless `tools/call`."""
    auth: "httpx2.Auth | None" = None


@asynccontextmanager
async def open_http(url: str, options: HttpOptions) -> AsyncGenerator["HttpChannel"]:
    """A channel to the server at `url`; nothing is sent before the first frame is."""
    import httpx2  # noqa: PLC0415 - 100 ms of imports that `limen stdio` does not need

    body_error: BaseException | None = None
    client = httpx2.AsyncClient(
        auth=options.auth,
        # Answers are told when they are ready, however long that takes: the deadline is the caller's.
        timeout=httpx2.Timeout(
            connect=options.connect_timeout_s, write=options.write_timeout_s, read=None, pool=None
        ),
        # Idle connections go before the five seconds after which common servers drop them.
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=4.0),
    )
    async with client, asyncio.TaskGroup() as group:
        channel = HttpChannel(url, options, client, group)
        try:
            yield channel
        except BaseException as error:  # noqa: BLE001 - raised again outside the group, which would wrap it
            body_error = error
        finally:
            await channel.aclose()
    if body_error is not None:
        raise body_error


@dataclass(slots=True)
class _Flight:
    """A request on its way: nothing has answered it yet."""

    id: RequestId
    is_stateless: bool
    task: "asyncio.Task[None] | None" = None
    is_answered: bool = False


class HttpChannel:
    """Frames to and from one MCP endpoint."""

    def __init__(
        self, url: str, options: HttpOptions, client: "httpx2.AsyncClient", group: asyncio.TaskGroup
    ) -> None:
        self.protocol_version: str | None = None
        """The revision agreed upon; set it after the handshake, it is sent with every message from then on."""
        self.session_id: str | None = None
        self._url = url
        self._options = options
        self._client = client
        self._group = group
        self._inbox = Lane(CAPACITY)
        self._flights: dict[RequestId, _Flight] = {}
        self._listener: asyncio.Task[None] | None = None
        self._is_closed = False

    async def receive(self) -> bytes | None:
        """The next frame from any response or event stream; None once the channel is closed."""
        return await self._inbox.get()

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
        if message.is_request:
            await self._ask(frame, message)
        elif message.method == CANCELLED:
            await self._withdraw(frame, message)
        elif message.method is not None:
            await self._tell(frame, message)
            if message.method == "notifications/initialized":
                self._listen_from_now_on()
        else:
            await self._reply(frame, message)

    # Requests

    async def _ask(self, frame: bytes, message: Outgoing) -> None:
        if message.method == "initialize":
            self._forget_session()
        assert message.id is not None
        flight = _Flight(message.id, is_stateless=message.version is not None)
        self._flights[flight.id] = flight
        try:
            response = await self._post(frame, message)
            if message.method == "initialize" and response.is_success:
                self.session_id = response.headers.get(SESSION_HEADER)
            if response.status_code == 200 and _media_type(response) == EVENT_STREAM:
                flight.task = self._group.create_task(self._follow(flight, response))
                return
            await self._take_whole(flight, response)
        finally:
            if flight.task is None:
                self._flights.pop(flight.id, None)

    async def _take_whole(self, flight: _Flight, response: "httpx2.Response") -> None:
        body = await self._read(response)
        if response.status_code == 200 and _media_type(response) == "application/json":
            await self._inbox.put(body)
            return
        # A 404 that carries a session id in its request means the session, whatever the body says.
        has_session = SESSION_HEADER in response.request.headers
        told = None if response.status_code == 404 and has_session else answered_error(body, flight.id)
        if told is not None and response.status_code not in (401, 403):
            await self._inbox.put(told)
        elif response.is_success:
            raise UpstreamError("the server took a request without answering it", status=response.status_code)
        else:
            raise failure(response.status_code, response.headers, body, has_session=has_session)

    async def _follow(self, flight: _Flight, response: "httpx2.Response") -> None:
        """Read a request's own stream to its reply, through as many connections as that takes."""
        parser = EventParser(self._options.limit_bytes)
        try:
            await self._drain(response, parser, flight)
            if not flight.is_answered and not flight.is_stateless:
                await self._resume(parser, flight)
            if not flight.is_answered:
                await self._fail(flight, Unreachable("the stream ended before the answer"))
        except ChannelClosed:
            return
        finally:
            self._flights.pop(flight.id, None)

    async def _fail(self, flight: _Flight, error: LimenError) -> None:
        flight.is_answered = True
        await self._inbox.put(refusal(flight.id, error))

    async def _resume(self, parser: EventParser, flight: _Flight | None) -> None:
        """Go on reading a stream after its last event, for as long as the server lets us."""
        failures = 0
        while failures < MOST_RECONNECTS and (flight is None or not flight.is_answered):
            if flight is not None and not parser.last_event_id:
                return
            pause_s = RECONNECT_S if parser.retry_ms is None else parser.retry_ms / 1000
            await asyncio.sleep(pause_s * (1 + failures))
            try:
                response = await self._get(parser.last_event_id)
            except Unreachable:
                failures += 1
                continue
            if response.status_code != 200 or _media_type(response) != EVENT_STREAM:
                await response.aclose()
                if response.status_code < 500:
                    return
                failures += 1
                continue
            failures = 0
            await self._drain(response, EventParser.after(parser), flight)

    async def _drain(self, response: "httpx2.Response", parser: EventParser, flight: _Flight | None) -> None:
        """Hand on every event of one connection until it ends; a broken one ends too."""
        import httpx2  # noqa: PLC0415 - loaded by now

        try:
            async with asyncio.timeout(None) as patience:
                async for chunk in response.aiter_raw():
                    for event in parser.feed(chunk):
                        await self._take_event(event, flight)
                    if flight is not None and flight.is_answered and patience.when() is None:
                        patience.reschedule(asyncio.get_running_loop().time() + LINGER_S)
        except (TimeoutError, httpx2.TransportError, httpx2.StreamError) as error:
            log.debug("event stream broke off", extra={"reason": str(error)})
        finally:
            await response.aclose()
