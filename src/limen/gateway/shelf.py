"""Where results too large for a client are kept for a while, each for the one who asked, and read in pages."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from secrets import token_urlsafe
from threading import Lock
from typing import Final

import msgspec
from msgspec import Struct

from limen.calls.call import Call, Caller, Capability, Kind, Result
from limen.clock import monotonic
from limen.errors import InvalidArguments, ResourceNotFound
from limen.gateway.cutting import cut, declares_output
from limen.gateway.pagedtexts import OwnFolder, PagedText, clear_abandoned
from limen.protocol import uritemplates

__all__ = ["Shelf", "ShelfLimits", "open_shelf"]

log = logging.getLogger(__name__)

PREFIX: Final = "limen://results/"
PATTERN: Final = f"{PREFIX}{{id}}{{?offset,limit}}"
PAGE_CHARS: Final = 64 << 10
MOST_PAGE_CHARS: Final = 1 << 20
_LONGEST_NUMBER: Final = 12
_NO_COMPLETIONS: Final = b'{"completion":{"values":[],"total":0,"hasMore":false}}'

TEMPLATE: Final = Capability(
    "template",
    PATTERN,
    msgspec.json.encode(
        {
            "uriTemplate": PATTERN,
            "name": "results",
            "title": "Large results",
            "description": "A tool's result that was too large to be sent at once, in pages of characters.",
            "mimeType": "text/plain",
        }
    ),
    "results",
)


class ShelfLimits(Struct, frozen=True, kw_only=True):
    """What is kept, how much of it and for how long."""

    result_bytes: int = 256 << 10
    """A result of more is not sent whole."""
    total_bytes: int = 256 << 20
    """All that is kept; beyond it the oldest go first."""
    stay_s: float = 3600.0


class _Kept(Struct, frozen=True):
    owner: tuple[str, str]
    text: PagedText
    expires: float


class Shelf:
    """Keeps results, and is the provider by which they are read."""

    source = TEMPLATE.source

    def __init__(self, folder: Path, limits: ShelfLimits, now: Callable[[], float] = monotonic) -> None:
        self.limits = limits
        self._folder = OwnFolder(folder)
        self._making = Lock()
        self._now = now
        self._kept: dict[str, _Kept] = {}
        """Oldest first."""
        self._bytes = 0
        self._next_sweep: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def shorten(self, call: Call, capability: Capability, payload: bytes) -> bytes:
        """The result to send instead of one that is too large; the same one when it cannot be kept or cut."""
        result_id = token_urlsafe(18)
        loop = asyncio.get_running_loop()
        putting = loop.run_in_executor(None, self._put, result_id, capability, payload)
        owner = _owner(call.caller)

        def register(done: "asyncio.Future[tuple[bytes, PagedText | None]]") -> None:
            if not done.cancelled() and done.exception() is None:
                self._register(result_id, owner, done.result()[1])

        # Also for a caller who has gone meanwhile: what lies on the shelf must be known to it.
        putting.add_done_callback(register)
        return (await asyncio.shield(putting))[0]

    def _put(self, result_id: str, capability: Capability, payload: bytes) -> tuple[bytes, PagedText | None]:
        limits = self.limits
        parts = cut(payload, limits.result_bytes, has_schema=declares_output(capability.definition))
        if parts is None:
            return payload, None
        try:
            with self._making:
                folder = self._folder.get()
            text = PagedText.write(folder / result_id, parts.text)
        except OSError as error:
            log.error("large result not kept, sent whole", extra={"tool": capability.name, "reason": str(error)})  # noqa: TRY400 - the disk's failure, no bug
            return payload, None
        uri, stay = f"{PREFIX}{result_id}", _spoken(limits.stay_s)
        shorter = parts.shortened(uri=uri, tool=capability.name, size=text.size, stay=stay)
        if len(shorter) < len(payload) and text.size <= limits.total_bytes:
            return shorter, text
        text.path.unlink(missing_ok=True)
        return payload, None

    def _register(self, result_id: str, owner: tuple[str, str], text: PagedText | None) -> None:
        if text is None or self._is_closed:
            return
        self._kept[result_id] = _Kept(owner, text, self._now() + self.limits.stay_s)
        self._bytes += text.size
        self._sweep()

    def _sweep(self) -> None:
        """Remove what has been here too long, and the oldest as long as there is too much."""
        now, gone = self._now(), list[Path]()
        while self._kept:
            oldest = next(iter(self._kept))
            found = self._kept[oldest]
            if found.expires > now and self._bytes <= self.limits.total_bytes:
                break
            del self._kept[oldest]
            self._bytes -= found.text.size
            gone.append(found.text.path)
        loop = asyncio.get_running_loop()
        if gone:
            loop.run_in_executor(None, _remove, gone)
        if self._next_sweep is not None:
            self._next_sweep.cancel()
        self._next_sweep = None
        if self._kept:
            first = next(iter(self._kept.values()))
            self._next_sweep = loop.call_later(max(0.0, first.expires - now) + 0.1, self._sweep)

    async def list(self, kind: Kind) -> Sequence[Capability]:
        """The one template."""
        return (TEMPLATE,) if kind == "template" else ()

    def find(self, kind: Kind, name: str) -> Capability | None:
        """Whatever looks like a result; whether it is there and whose it is, only its reader is told."""
        if kind == "resource":
            return TEMPLATE if name.startswith(PREFIX) and uritemplates.match(PATTERN, name) is not None else None
        return TEMPLATE if kind == "template" and name == PATTERN else None

    def run(self, call: Call, capability: Capability) -> Awaitable[Result]:
        """Read a page."""
        return self._run(call)

    async def _run(self, call: Call) -> Result:
        match call.method:
            case "resources/read":
                return Result(await self._read(call))
            case "completion/complete":
                return Result(_NO_COMPLETIONS)
            case _:
                # A result never changes, so whoever subscribes to it hears nothing.
                return Result(b"{}")

    async def _read(self, call: Call) -> bytes:
        values = uritemplates.match(PATTERN, call.name) or {}
        offset = _number(values, "offset", 0, least=0, most=10**_LONGEST_NUMBER - 1)
        limit = _number(values, "limit", PAGE_CHARS, least=1, most=MOST_PAGE_CHARS)
        self._sweep()
        kept = self._kept.get(values.get("id", ""))
        if kept is None or kept.owner != _owner(call.caller):
            raise _missing(call.name)
        try:
            page = await asyncio.to_thread(kept.text.read, offset, limit)
        except OSError:
            raise _missing(call.name) from None
        return _page(call.name, page, offset, limit, kept.text.chars)

    async def close(self) -> None:
        """Remove everything."""
        self._is_closed = True
        self._kept.clear()
        if self._next_sweep is not None:
            self._next_sweep.cancel()
        if self._folder.is_made:
            await asyncio.to_thread(self._folder.remove)


@asynccontextmanager
async def open_shelf(
    folder: Path, limits: ShelfLimits, now: Callable[[], float] = monotonic
) -> AsyncGenerator[Shelf, None]:
    """A shelf in this folder, emptied at its end. What processes left there that did not come so far goes now."""
    shelf = Shelf(folder, limits, now)
    if _has_entries(folder):
        await asyncio.to_thread(clear_abandoned, folder)
    try:
        yield shelf
    finally:
        await shelf.close()


def _has_entries(folder: Path) -> bool:
    # Nearly always there is nothing, which is known sooner than a thread begins.
    return folder.exists() and any(folder.iterdir())


def _owner(caller: Caller) -> tuple[str, str]:
    return caller.tenant, caller.subject


def _remove(paths: Sequence[Path]) -> None:
    for path in paths:
        with suppress(OSError):
            path.unlink()


def _missing(uri: str) -> ResourceNotFound:
    return ResourceNotFound(
        f"no resource {uri!r}; large results are kept for a while, for their callers alone", uri=uri
    )


def _number(values: dict[str, str], name: str, default: int, *, least: int, most: int) -> int:
    given = values.get(name)
    if given is None:
        return default
    if given.isascii() and given.isdecimal() and len(given) <= _LONGEST_NUMBER and least <= int(given) <= most:
        return int(given)
    raise InvalidArguments(f"{name}: expected a number from {least} to {most}, not {given[:20]!r}", field=name)


def _page(asked: str, page: str, offset: int, limit: int, total: int) -> bytes:
    uri, end = asked.partition("?")[0], offset + len(page)
    facts: dict[str, object] = {"limen/offset": offset, "limen/total": total}
    contents: list[dict[str, object]] = [{"uri": asked, "mimeType": "text/plain", "text": page, "_meta": facts}]
    if page and end < total:
        following = f"{uri}?offset={end}" + (f"&limit={limit}" if limit != PAGE_CHARS else "")
        facts["limen/next"] = following
        said = f"[characters {offset:,} to {end:,} of {total:,}; the next page is {following}]"
        contents.append({"uri": f"{uri}#next", "mimeType": "text/plain", "text": said})
    return msgspec.json.encode({"contents": contents, "_meta": facts})


def _spoken(stay_s: float) -> str:
    minutes = round(stay_s / 60)
    return "an hour" if minutes == 60 else f"{minutes} minutes" if minutes > 1 else f"{stay_s:g} seconds"
