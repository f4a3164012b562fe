"""Asks an MCP registry (API v0.1): search, and one server by name. Bounded in time, size and pages."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import msgspec

from limen.errors import NotFound, Unreachable, UpstreamError
from limen.gateway.registry.records import Listed, read_record
from limen.shapes import items_of, object_of

if TYPE_CHECKING:
    import httpx2

__all__ = ["Registry"]

ANSWER_S: Final = 20.0
ANSWER_BYTES: Final = 8 << 20
PAGE: Final = 50
MOST_PAGES: Final = 20


class Registry:
    """One registry, by the address before `/v0.1`."""

    def __init__(self, url: str) -> None:
        self._base = url.rstrip("/").removesuffix("/v0.1") + "/v0.1/servers"

    async def search(self, words: str, limit: int) -> Sequence[Listed]:
        """Servers whose names match, those first whose own name does.

        Raises:
            Unreachable: the registry does not answer.
            UpstreamError: it answers what cannot be used.
        """
        found: dict[str, Listed] = {}
        seen: set[str] = set()
        cursor = ""
        async with _open_client() as client:
            for _ in range(MOST_PAGES):
                query = {"search": words, "version": "latest", "limit": str(min(limit, PAGE))}
                page = await _get(client, self._base, query | ({"cursor": cursor} if cursor else {}))
                for item in items_of(page.get("servers")):
                    listed = read_record(item)
                    found.setdefault(listed.server.name, listed)
                cursor = _next_cursor(page)
                if not cursor or cursor in seen or len(found) >= limit:
                    break
                seen.add(cursor)
        return sorted(found.values(), key=lambda listed: _distance(listed, words))[:limit]

    async def get(self, name: str, version: str = "latest") -> Listed:
        """One version of a server.

        Raises:
            NotFound: the registry does not know it.
            Unreachable: the registry does not answer.
            UpstreamError: it answers what cannot be used.
        """
        address = f"{self._base}/{quote(name, safe='')}/versions/{quote(version, safe='')}"
        async with _open_client() as client:
            try:
                listed = read_record(await _get(client, address, {}))
            except NotFound:
                of = "" if version == "latest" else f" in version {version}"
                raise NotFound(
                    f"the registry has no server {name!r}{of}", fix="limen mcp marketplace search WORDS"
                ) from None
        if listed.server.name != name:
            raise UpstreamError(f"the registry was asked for {name!r} and answered with {listed.server.name!r}")
        return listed


def _open_client() -> "httpx2.AsyncClient":
    import httpx2  # only who looks into a registry pays

    return httpx2.AsyncClient(timeout=ANSWER_S, headers={"accept": "application/json"})


async def _get(client: "httpx2.AsyncClient", url: str, query: Mapping[str, str]) -> Mapping[str, Any]:
    import httpx2  # loaded already

    try:
        async with asyncio.timeout(ANSWER_S), client.stream("GET", url, params=dict(query)) as response:
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > ANSWER_BYTES:
                    raise UpstreamError(f"the registry's answer is longer than {ANSWER_BYTES >> 20} MiB")
    except TimeoutError:
        raise Unreachable(f"no answer from {url} within {ANSWER_S:g} s", url=url) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
        raise Unreachable(f"no answer from {url}: {str(error) or type(error).__name__}", url=url) from error
    return _read(response.status_code, bytes(body), url)


def _read(status: int, body: bytes, url: str) -> Mapping[str, Any]:
    if status == 404:
        raise NotFound(f"{url} is not there")
    if status != 200:
        raise UpstreamError(f"{url} answered with status {status}", status=status)
    try:
        return object_of(msgspec.json.decode(body))
    except (msgspec.DecodeError, RecursionError) as error:
        raise UpstreamError(f"{url} answered with what is no JSON", fix="see that it is an MCP registry") from error


def _next_cursor(page: Mapping[str, Any]) -> str:
    about = object_of(page.get("metadata"))
    cursor = about.get("nextCursor") or about.get("next_cursor")
    return cursor if isinstance(cursor, str) else ""


def _distance(listed: Listed, words: str) -> tuple[int, str]:
    name, wanted = listed.server.name.casefold(), words.casefold()
    own = name.rpartition("/")[2]
    return (0 if own == wanted else 1 if wanted in own else 2 if wanted in name else 3), name
