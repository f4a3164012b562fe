"""Fetches one address from outside: each name is looked up once, checked, and the checked address is connected to.

Every redirect is a new address under the same rules. Body and time are bounded while they are spent, and a packed body
is bounded by what comes out of it.
"""

import asyncio
import socket
import ssl
import zlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from msgspec import Struct

from limen.brain.ingest.addresses import FetchRules, IpAddress, Target, check_addresses, check_redirect, check_url
from limen.clock import timestamp
from limen.errors import FetchFailed, FetchRefused
from limen.transport.pinned import PinnedAnswer, PinnedRequest, open_pinned

__all__ = ["Fetched", "Fetcher", "Resolve", "fetch", "look_up"]

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""From a host name and port to its IP addresses."""

_HEADERS: Final = {
    "Accept": "text/html, text/markdown, text/plain, application/json, application/pdf;q=0.9, */*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
    "User-Agent": "limen",
}
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_UNWANTED: Final = ("image/", "video/", "audio/", "font/")
_WINDOW: Final = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


class Fetched(Struct, frozen=True, kw_only=True):
    """What an address answered."""

    url: str
    """As it was asked for."""
    final_url: str
    """Where the redirects ended."""
    status: int
    content_type: str
    """As the server declares it, with its charset."""
    body: bytes
    fetched_at: str


async def look_up(host: str, port: int) -> Sequence[str]:
    """The addresses the system knows for a name.

    Raises:
        FetchFailed: it knows none.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise FetchFailed(f"url: the host {host} was not found", host=host) from error
    return list(dict.fromkeys(str(address[0]) for _, _, _, _, address in found))


async def fetch(url: str, rules: FetchRules) -> Fetched:
    """What is at this address.

    Raises:
        FetchRefused: a rule forbids it, here or on the way, or the answer is larger than the rules allow.
        FetchFailed: nobody answers, too slowly, or with an error.
    """
    return await Fetcher(rules).fetch(url)


class Fetcher:
    """Fetches under rules; how names are looked up and which certificates are trusted can be given."""

    def __init__(self, rules: FetchRules, *, resolve: Resolve = look_up, trust: ssl.SSLContext | None = None) -> None:
        self._rules = rules
        self._resolve = resolve
        self._trust = trust

    async def fetch(self, url: str) -> Fetched:
        """As the function of the same name."""
        target = check_url(url, self._rules)
        try:
            async with asyncio.timeout(self._rules.deadline_s):
                return await self._follow(url, target)
        except TimeoutError:
            raise FetchFailed(f"url: no whole answer within {self._rules.deadline_s:g} s", url=url) from None

    async def _follow(self, url: str, target: Target) -> Fetched:
        for _ in range(self._rules.max_redirects + 1):
            answer = await self._ask(url, target)
            if isinstance(answer, Fetched):
                return answer
            target = answer
        raise FetchRefused(f"url: more than {self._rules.max_redirects} redirects; give the last address", field="url")

    async def _ask(self, url: str, target: Target) -> Fetched | Target:
        """One hop: the answer, or where it sends us."""
        literal = _literal(target.host)
        addresses = [literal] if literal else await self._resolve(target.host, target.port)
        checked = check_addresses(target, addresses, self._rules)
        failure: FetchFailed | None = None
        for address in checked:
            try:
                return await self._ask_at(url, target, address)
            except FetchFailed as error:
                failure = error
                if error.facts.get("is_answered"):
                    raise
        assert failure is not None
        raise failure

    async def _ask_at(self, url: str, target: Target, address: IpAddress) -> Fetched | Target:
        request = PinnedRequest(
            scheme=target.scheme,
            host=target.host,
            authority=target.authority,
            address=str(address),
            port=target.port,
            path=target.path,
            headers=_HEADERS,
            timeout_s=self._rules.read_s,
            trust=self._trust,
        )
        async with open_pinned(request) as answer:
            status, headers = answer.status_code, answer.headers
            if status in _REDIRECTS and "location" in headers:
                return check_redirect(target, headers["location"], self._rules)
            if not 200 <= status < 300:
                raise FetchFailed(f"url: {target.url} answered with status {status}", status=status, is_answered=True)
            content_type = headers.get("content-type", "")
            if content_type.lower().startswith(_UNWANTED):
                raise FetchRefused(f"url: {target.url} is {content_type[:60]}, which holds no text", field="url")
            body = await self._body(answer)
        return Fetched(
            url=url,
            final_url=target.url,
            status=status,
            content_type=content_type[:200],
            body=body,
            fetched_at=timestamp(),
        )

    async def _body(self, answer: PinnedAnswer) -> bytes:
        limit = self._rules.max_bytes
        declared = answer.headers.get("content-length", "")
        if declared.isdecimal() and len(declared) < 20 and int(declared) > limit:
            raise _too_large(limit)
        unpack = _unpacker(answer.headers.get("content-encoding", ""), limit)
        parts: list[bytes] = []
        size = 0
        async for piece in answer.aiter_raw():
            part = unpack(piece)
            parts.append(part)
            size += len(part)
            if size > limit:
                raise _too_large(limit)
        return b"".join(parts)


def _unpacker(encoding: str, limit: int) -> Callable[[bytes], bytes]:
    """How to unpack a body piece by piece; what comes out of a piece is bounded, so no bomb goes off."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return bytes
    if name not in _WINDOW:
        raise FetchFailed(f"url: the answer is packed as {name[:40]!r}, which was not asked for", is_answered=True)
    unpacking = zlib.decompressobj(_WINDOW[name])
    packed = 0

    def unpack(piece: bytes) -> bytes:
        nonlocal packed
        packed += len(piece)
        if packed > limit:
            raise _too_large(limit)
        try:
            part = unpacking.decompress(piece, limit + 1)
        except zlib.error as error:
            raise FetchFailed("url: the answer is packed, but damaged", is_answered=True) from error
        if unpacking.unconsumed_tail:
            raise _too_large(limit)
        return part

    return unpack


def _too_large(limit: int) -> FetchRefused:
    return FetchRefused(f"url: the answer holds more than {limit:,} bytes; save it and ingest the file", limit=limit)


def _literal(host: str) -> str | None:
    """The host itself, when it is an address already."""
    return host if ":" in host or host.rpartition(".")[2].isdecimal() else None
