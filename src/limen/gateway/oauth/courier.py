"""Carries the requests of an authorization: bounded in time and size, and only to addresses that may see a secret."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, urlsplit

from limen.errors import AuthRequired, Unreachable

if TYPE_CHECKING:
    import httpx2

__all__ = ["ANSWER_BYTES", "ANSWER_S", "Courier", "check_address", "is_loopback", "open_courier"]

ANSWER_BYTES: Final = 1024 * 1024
ANSWER_S: Final = 20.0


def check_address(url: str, server: str) -> None:
    """Refuse an address that a server names, unless what goes there stays private.

    That is: HTTPS; or the origin of the server itself, whose address a person wrote down; or this machine, when the
    server is on it too.

    Raises:
        AuthRequired: it is none of these.
    """
    try:
        named, own = urlsplit(url), urlsplit(server)
        is_private = (
            named.scheme == "https"
            or _origin(named) == _origin(own)
            or (named.scheme == "http" and is_loopback(named.hostname) and is_loopback(own.hostname))
        )
    except ValueError:
        is_private = False
    if not is_private or not url.isascii() or not url.isprintable():
        raise AuthRequired("the server names an address for signing in that is not HTTPS; ask its operator", url=url)


def _origin(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port


def is_loopback(host: str | None) -> bool:
    """Whether a host name or address means this machine."""
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False


@asynccontextmanager
async def open_courier(server: str) -> AsyncGenerator["Courier"]:
    """A courier for one sign-in at `server`."""
    import httpx2  # only who signs in pays

    async with httpx2.AsyncClient(timeout=ANSWER_S) as client:
        yield Courier(server, client)


@dataclass(frozen=True, slots=True)
class Courier:
    """Sends requests and brings their answers whole; follows no redirect."""

    server: str
    client: "httpx2.AsyncClient"

    async def send(self, request: "httpx2.Request") -> "httpx2.Response":
        """One request, one whole answer.

        Raises:
            AuthRequired: the address must not see what the request carries.
            Unreachable: no answer, or not within the bounds.
        """
        async with self._bounds(request):
            return await self._exchange(request)

    async def look(self, request: "httpx2.Request") -> tuple[int, Mapping[str, str]]:
        """Status and headers of an answer whose body does not matter, and may have no end.

        Raises:
            AuthRequired: the address must not see what the request carries.
            Unreachable: no answer, or not within the bounds.
        """
        async with self._bounds(request):
            response = await self.client.send(request, stream=True)
            await response.aclose()
        return response.status_code, response.headers

    @asynccontextmanager
    async def _bounds(self, request: "httpx2.Request") -> AsyncGenerator[None]:
        import httpx2  # loaded already

        where = f"{request.url.scheme}://{request.url.netloc.decode('ascii', 'replace')}"
        check_address(str(request.url), self.server)
        try:
            async with asyncio.timeout(ANSWER_S):
                yield
        except TimeoutError:
            raise Unreachable(f"no answer from {where} within {ANSWER_S:g} s", url=where) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            reason = str(error) or type(error).__name__
            raise Unreachable(f"no answer from {where}: {reason}", url=where) from error

    async def _exchange(self, request: "httpx2.Request") -> "httpx2.Response":
        import httpx2  # loaded already

        response = await self.client.send(request, stream=True)
        body = bytearray()
        try:
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > ANSWER_BYTES:
                    raise Unreachable(f"an answer is longer than {ANSWER_BYTES} bytes", url=str(request.url.host))
        finally:
            await response.aclose()
        headers = [(name, value) for name, value in response.headers.multi_items() if name not in _FRAMING]
        whole = httpx2.Response(response.status_code, headers=headers, content=bytes(body), request=response.request)
        whole.next_request = response.next_request
        return whole


_FRAMING: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
