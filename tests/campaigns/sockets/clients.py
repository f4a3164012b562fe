"""The two kinds of client of this campaign: those that hold a connection half open, and those that work."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter

SESSION_REVISION = "2025-11-25"
DRIP_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to hold a connection open for nothing."""

    name: str
    sent: bytes
    drip: bytes = b""


def kinds(host: str) -> list[Kind]:
    """Every kind, addressed to the hub as its guard wants it."""
    post = f"POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n".encode()
    sized, chunked = b"content-length: 1000\r\n\r\n", b"transfer-encoding: chunked\r\n\r\n"
    whole = f"GET /healthz HTTP/1.1\r\nhost: {host}\r\n\r\n".encode()
    return [
        Kind("nothing sent", b""),
        Kind("half a request line", b"POST /mc"),
        Kind("half the headers", post),
        Kind("half a body", post + sized + b'{"jsonrpc"'),
        Kind("half a chunk", post + chunked + b'a\r\n{"json'),
        Kind("half a second request", whole + b"GET /hea"),
        Kind("a header, byte by byte", post + b"x-drip: ", b"y"),
        Kind("a body, byte by byte", post + sized, b" "),
    ]


class HalfOpen(asyncio.Protocol):
    """A connection that never finishes its request, and waits to be closed."""

    def __init__(self, kind: Kind, on_end: Callable[["HalfOpen"], None]) -> None:
        self.kind = kind
        self.opened = perf_counter()
        self.lasted_s: float | None = None
        self.was_given_up = False
        self.heard = b""
        self._on_end = on_end
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] -- a stream's transport is this one
        self._transport = transport
        transport.write(self.kind.sent)

    def data_received(self, data: bytes) -> None:
        self.heard = (self.heard + data)[-4096:]

    def connection_lost(self, exc: Exception | None) -> None:
        self.lasted_s = perf_counter() - self.opened
        self._on_end(self)

    def drip(self) -> None:
        if self.kind.drip and self._transport is not None and not self._transport.is_closing():
            self._transport.write(self.kind.drip)

    def give_up(self) -> None:
        self.was_given_up = True
        if self._transport is not None:
            self._transport.abort()

    @property
    def is_refused(self) -> bool:
        """Whether the cap on connections turned this one away."""
        return self.heard.startswith(b"HTTP/1.1 503 ")


@dataclass
class Storm:
    """Many half-open connections at once."""

    host: str
    port: int
    opened: int = 0
    turned_away: int = 0
    """Reset while they were being made."""
    waiting: set[HalfOpen] = field(default_factory=set[HalfOpen])
    ended: list[HalfOpen] = field(default_factory=list[HalfOpen])
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    async def blow(self, count: int, patience_s: float) -> None:
        """Open them all, and wait until the other side has closed every one, or patience ends."""
        loop = asyncio.get_running_loop()
        ways = kinds(f"{self.host}:{self.port}")
        for number in range(count):
            self.opened += 1
            one = HalfOpen(ways[number % len(ways)], self._end)
            self.waiting.add(one)
            try:
                await loop.create_connection(lambda one=one: one, self.host, self.port)
            except ConnectionError:
                self.waiting.discard(one)
                self.turned_away += 1
        self._settle()
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                while not self._over.is_set():
                    with suppress(TimeoutError):
                        async with asyncio.timeout(DRIP_EVERY_S):
                            await self._over.wait()
                    for one in self.waiting:
                        one.drip()
        for one in tuple(self.waiting):
            one.give_up()
        await self._over.wait()

    def _end(self, one: HalfOpen) -> None:
        self.waiting.discard(one)
        self.ended.append(one)
        self._settle()

    def _settle(self) -> None:
        if self.waiting:
            self._over.clear()
        else:
            self._over.set()


@dataclass
class Tally:
    """What became of the normal requests."""

    latencies_ms: list[float] = field(default_factory=list[float])
    failures: list[str] = field(default_factory=list[str])


@dataclass
class Worker:
    """A client that does its work: pings, tool calls and health checks, one after the other."""

    host: str
    port: int
    tally: Tally
    pause_s: float = 0.01
    reconnects: bool = False
    _session: str = ""
    _count: int = 0
    _stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def work(self, until: asyncio.Event) -> None:
        """Go on until told to stop; a failure is counted and the next request made on a new connection."""
        while not until.is_set():
            await self.once()
            await asyncio.sleep(self.pause_s)
        await self.leave()

    async def once(self) -> None:
        """One request, timed."""
        self._count += 1
        start = perf_counter()
        try:
            async with asyncio.timeout(10):
                await self._step()
        except (OSError, EOFError, TimeoutError, ValueError) as error:
            self.tally.failures.append(repr(error))
            await self.leave()
        else:
            self.tally.latencies_ms.append((perf_counter() - start) * 1000)
            if self.reconnects:
                await self.leave()

    async def leave(self) -> None:
        """Close the connection, not the session."""
        if self._stream is not None:
            _, writer = self._stream
            self._stream = None
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _step(self) -> None:
        if not self._session:
            about = {"name": "campaign", "version": "1"}
            await self._post("initialize", protocolVersion=SESSION_REVISION, capabilities={}, clientInfo=about)
        elif self._count % 3 == 0:
            await self._exchange(b"GET /healthz HTTP/1.1\r\n", b"")
        elif self._count % 3 == 1:
            await self._post("ping")
        else:
            await self._post("tools/call", name="search_local_context", arguments={"query": "audit"})

    async def _post(self, method: str, **params: object) -> None:
        message = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        answer = json.loads(await self._exchange(b"POST /mcp HTTP/1.1\r\n", json.dumps(message).encode()))
        if answer.get("id") != self._count or "result" not in answer:
            raise ValueError(f"{method} was answered {answer}")

    async def _exchange(self, line: bytes, body: bytes) -> bytes:
        if self._stream is None:
            self._stream = await asyncio.open_connection(self.host, self.port)
        reader, writer = self._stream
        head = [
            f"host: {self.host}:{self.port}",
            "content-type: application/json",
            "accept: application/json, text/event-stream",
            f"content-length: {len(body)}",
        ]
        if self._session:
            head += [f"mcp-session-id: {self._session}", f"mcp-protocol-version: {SESSION_REVISION}"]
        writer.write(line + "\r\n".join([*head, "", ""]).encode() + body)
        said = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        if not said[0].startswith("HTTP/1.1 200 "):
            raise ValueError(said[0])
        fields = {name.lower(): value for name, _, value in (entry.partition(": ") for entry in said[1:])}
        self._session = self._session or fields.get("mcp-session-id", "")
        return await reader.readexactly(int(fields["content-length"]))
