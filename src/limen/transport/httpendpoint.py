"""One HTTP address and the connections to it: the only module that speaks httpx. Knows nothing of MCP."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from limen.errors import ConfigInvalid, TooLarge, Unreachable
from limen.transport.authorizer import Authorizer, read_challenge
from limen.transport.httpmessage import Mirror

if TYPE_CHECKING:
    import httpx2

__all__ = ["EVENT_STREAM", "Endpoint", "HttpOptions", "is_event_stream", "media_type", "open_endpoint"]

EVENT_STREAM: Final = "text/event-stream"
ERROR_BODY_BYTES: Final = 64 * 1024
MOST_RENEWALS: Final = 3
"""How often one request may be sent again with other credentials: saved meanwhile, refreshed, signed in for."""
KEEPALIVE_S: Final = 4.0
"""Idle connections go before the five seconds after which common servers drop them."""


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """How to reach the server, and how much it may answer."""

    headers: Mapping[str, str]
    limit_bytes: int
    connect_timeout_s: float = 10.0
    write_timeout_s: float = 30.0
    mirror: Mirror | None = None
    """Gives the `Mcp-Param-*` headers of a stateless `tools/call`."""
    auth: Authorizer | None = None
    """Gives the Authorization header, which `headers` must then leave out."""


@asynccontextmanager
async def open_endpoint(url: str, options: HttpOptions) -> AsyncGenerator["Endpoint"]:
    """The endpoint; nothing is connected before the first exchange.

    Raises:
        ConfigInvalid: a header that HTTP cannot carry.
    """
    for name, value in options.headers.items():
        if not (name + value).isascii() or not (name + value).isprintable():
            raise ConfigInvalid(f"header {name!r} holds characters HTTP does not allow; use plain ASCII", header=name)
    import httpx2  # tens of milliseconds that `limen stdio` need not pay

    # Answers come when they are ready, however long that takes: the deadline is the caller's.
    timeout = httpx2.Timeout(connect=options.connect_timeout_s, write=options.write_timeout_s, read=None, pool=None)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=KEEPALIVE_S)
    async with httpx2.AsyncClient(timeout=timeout, limits=limits) as client:
        yield Endpoint(
            url,
            options,
            client,
            refused=(httpx2.TransportError, httpx2.InvalidURL),
            broken=(httpx2.HTTPError, httpx2.StreamError),
        )


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go; turns every failure to connect or to read into `Unreachable`."""

    url: str
    options: HttpOptions
    client: "httpx2.AsyncClient"
    refused: tuple[type[Exception], ...]
    broken: tuple[type[Exception], ...]

    async def exchange(self, verb: str, headers: Mapping[str, str], content: bytes | None = None) -> "httpx2.Response":
        """Send one request; the response is returned at its status, its body unread.

        Raises:
            Unreachable: there is no answer.
            AuthRequired: the server wants credentials, and whoever could give them cannot.
        """
        auth = self.options.auth
        if auth is None:
            return await self._exchange_once(verb, headers, content)
        authorization = await auth.header()
        response = await self._exchange_once(verb, _with(headers, authorization), content)
        for _ in range(MOST_RENEWALS):
            challenge = read_challenge(response.status_code, response.headers, authorization)
            if challenge is None:
                break
            await response.aclose()
            authorization = await auth.renew(challenge)
            response = await self._exchange_once(verb, _with(headers, authorization), content)
        return response

    async def _exchange_once(self, verb: str, headers: Mapping[str, str], content: bytes | None) -> "httpx2.Response":
        # Compression would hold back events, and hide from the limits how much there is to read.
        every_header = {"accept-encoding": "identity", **self.options.headers, **headers}
        try:
            request = self.client.build_request(verb, self.url, headers=every_header, content=content)
            return await self.client.send(request, stream=True)
        except self.refused as error:
            reason = str(error) or type(error).__name__
            raise Unreachable(f"no answer from {self.url}: {reason}", url=self.url) from error

    async def chunks(self, response: "httpx2.Response") -> AsyncGenerator[bytes]:
        """The body, as it arrives.

        Raises:
            Unreachable: it broke off.
        """
        try:
            async for chunk in response.aiter_bytes():
                yield chunk
        except self.broken as error:
            raise Unreachable(f"the answer from {self.url} broke off: {error}", url=self.url) from error

    async def read(self, response: "httpx2.Response") -> bytes:
        """The whole body; of a failure just the beginning.

        Raises:
            Unreachable: it broke off.
            TooLarge: it is past the limit.
        """
        limit = self.options.limit_bytes if response.is_success else ERROR_BODY_BYTES
        body = bytearray()
        try:
            async for chunk in self.chunks(response):
                body += chunk
                if len(body) > limit:
                    break
        finally:
            await response.aclose()
        if len(body) > limit and response.is_success:
            raise TooLarge(f"the answer is longer than the limit of {limit} bytes", limit="frame_bytes")
        return bytes(body[:limit])


def _with(headers: Mapping[str, str], authorization: str) -> Mapping[str, str]:
    return {**headers, "authorization": authorization} if authorization else headers


def media_type(response: "httpx2.Response") -> str:
    """What the body is, without parameters."""
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def is_event_stream(response: "httpx2.Response") -> bool:
    """Whether the body is a stream of events."""
    return response.status_code == 200 and media_type(response) == EVENT_STREAM
