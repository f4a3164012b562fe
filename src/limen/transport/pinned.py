"""One HTTP request to one IP address that was chosen before, under the name it was chosen for; follows nothing.

The URL carries the address, so no second look-up can lead elsewhere; `Host` and TLS keep the name.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from limen.errors import FetchFailed

__all__ = ["PinnedAnswer", "PinnedRequest", "open_pinned"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedRequest:
    """What is asked for, and where exactly."""

    scheme: str
    host: str
    """The name the certificate must be for."""
    authority: str
    """Name and port, for the `Host` header."""
    address: str
    """The IP address that is connected to."""
    port: int
    path: str
    headers: Mapping[str, str]
    timeout_s: float
    """For connecting, and for each piece of the answer."""
    trust: ssl.SSLContext | None = None
    """The certificates to trust instead of the system's."""


class PinnedAnswer(Protocol):
    """An answer whose head has come."""

    @property
    def status_code(self) -> int:
        """The status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, whatever the case of their names."""
        ...

    def aiter_raw(self) -> AsyncIterator[bytes]:
        """The body as it comes, packed or not."""
        ...


@asynccontextmanager
async def open_pinned(request: PinnedRequest) -> AsyncGenerator[PinnedAnswer]:
    """Ask, and give the answer as soon as its head is there; closed at the end, whether it was read or not.

    Raises:
        FetchFailed: nobody answers there, or not in HTTP.
    """
    import httpx2  # tens of milliseconds that only those who fetch something pay

    address = f"[{request.address}]" if ":" in request.address else request.address
    url = f"{request.scheme}://{address}:{request.port}{request.path}"
    headers = {"Host": request.authority, **request.headers}
    trust = request.trust or await _trust_for(request.scheme)
    try:
        # Nothing of the environment counts: a proxy would look the name up again.
        async with (
            httpx2.AsyncClient(verify=trust, trust_env=False, timeout=request.timeout_s, headers={}) as client,
            client.stream("GET", url, headers=headers, extensions={"sni_hostname": request.host}) as answer,
        ):
            yield answer
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
        why = str(error) or type(error).__name__
        raise FetchFailed(f"url: {request.authority} could not be fetched: {why}", host=request.authority) from error


async def _trust_for(scheme: str) -> ssl.SSLContext:
    # The client wants a context even where there is no TLS; an empty one trusts nobody and costs nothing.
    return await asyncio.to_thread(_system_trust) if scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@cache
def _system_trust() -> ssl.SSLContext:
    """Read once: loading the system's certificates takes a tenth of a second."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=False)
