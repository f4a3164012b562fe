"""The client side of the older HTTP+SSE transport as a channel: one stream brings everything, each frame is a POST.

The stream cannot be resumed: when it breaks, the connection is over.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from limen.errors import ChannelClosed, LimenError, ProtocolError, TooLarge, Unreachable
from limen.transport.httpendpoint import EVENT_STREAM, Endpoint, HttpOptions, is_event_stream, open_endpoint
from limen.transport.httpfailure import failure
from limen.transport.lane import Lane
from limen.transport.sse import Event, EventParser

if TYPE_CHECKING:
    import httpx2

__all__ = ["open_legacy_sse"]

log = logging.getLogger(__name__)

CAPACITY: Final = 256
FIRST_EVENT_S: Final = 10.0
"""How long the server may take to say where frames are posted."""


@asynccontextmanager
async def open_legacy_sse(url: str, options: HttpOptions) -> AsyncGenerator["LegacySseChannel"]:
    """A channel to the server whose stream is at `url`.

    Raises:
        Unreachable: there is no such stream.
        AuthRequired: the server wants credentials.
    """
    body_error: BaseException | None = None
    async with open_endpoint(url, options) as endpoint:
        response = await _open_stream(endpoint)
        async with asyncio.TaskGroup() as group:
            channel = LegacySseChannel(endpoint)
            reading = group.create_task(channel.read(response))
            try:
                await channel.ready()
                yield channel
            except BaseException as error:  # noqa: BLE001 - raised again outside the group, which would wrap it
                body_error = error
            finally:
                await channel.aclose()
                reading.cancel()
    if body_error is not None:
        raise body_error


async def _open_stream(endpoint: Endpoint) -> "httpx2.Response":
    response = await endpoint.exchange("GET", {"accept": EVENT_STREAM})
    if is_event_stream(response):
        return response
    raise failure(response.status_code, response.headers, await endpoint.read(response), has_session=False)


class LegacySseChannel:
    """Frames to and from one server."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._inbox: Lane[bytes] = Lane(CAPACITY)
        self._target: asyncio.Future[Endpoint] = asyncio.get_running_loop().create_future()
        self._is_closed = False

    async def ready(self) -> None:
        """Wait until the server has said where frames go.

        Raises:
            Unreachable: it does not say so.
            ProtocolError: it names a place that is not its own.
        """
        try:
            async with asyncio.timeout(FIRST_EVENT_S):
                await asyncio.shield(self._target)
        except TimeoutError:
            raise Unreachable("the server's stream does not say where to send messages") from None

    async def read(self, response: "httpx2.Response") -> None:
        """Read the stream to its end."""
        parser = EventParser(self._endpoint.options.limit_bytes)
        try:
            async with aclosing(self._endpoint.chunks(response)) as chunks:
                async for chunk in chunks:
                    for event in parser.feed(chunk):
                        await self._take(event if isinstance(event, Event) else None)
        except ChannelClosed:
            log.debug("stream dropped, the channel is closed")
        except Unreachable as error:
            log.info("event stream broke off", extra={"reason": str(error)})
        finally:
            self._fail(Unreachable("the server ended its stream"))
            self._inbox.end()
            await response.aclose()

    async def _take(self, event: Event | None) -> None:
        if event is None:
            limit = self._endpoint.options.limit_bytes
            await self._inbox.put(TooLarge(f"an event is longer than the limit of {limit} bytes", limit="frame_bytes"))
        elif event.event == "endpoint" and not self._target.done():
            self._settle(event.data.decode(errors="replace"))
        elif event.event == "message" and event.data:
            await self._inbox.put(event.data)

    def _settle(self, place: str) -> None:
        url = urljoin(self._endpoint.url, place)
        own, other = urlsplit(self._endpoint.url), urlsplit(url)
        # Credentials go along with every frame, so frames go nowhere else.
        if (own.scheme, own.netloc) != (other.scheme, other.netloc):
            self._fail(ProtocolError("the server wants messages sent to another address", field="endpoint"))
        else:
            self._target.set_result(replace(self._endpoint, url=url))

    def _fail(self, error: LimenError) -> None:
        if not self._target.done():
            self._target.set_exception(error)
            # Looked at, for the case that nobody waits any more.
            self._target.exception()

    async def receive(self) -> bytes | None:
        """The next frame; None once the stream has ended.

        Raises:
            TooLarge: an event was past the limit.
        """
        return await self._inbox.get()

    async def send(self, frame: bytes) -> None:
        """Post one frame; its answer comes on the stream.

        Raises:
            Unreachable: no connection.
            AuthRequired: the server wants credentials.
            ChannelClosed: the channel is closed.
        """
        if self._is_closed or not self._target.done():
            raise ChannelClosed("the channel is closed")
        target = self._target.result()
        response = await target.exchange("POST", {"content-type": "application/json"}, frame)
        body = await target.read(response)
        if not response.is_success:
            raise failure(response.status_code, response.headers, body, has_session=False)

    async def aclose(self) -> None:
        """Let go of the stream."""
        self._is_closed = True
        self._inbox.end()
