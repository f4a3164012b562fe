"""A small real HTTP server whose answers a test writes by hand, event by event; nothing of Limen in it."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Exchange:
    """One HTTP request, and the means to answer it."""

    verb: str
    headers: dict[str, str]
    body: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def message(self) -> dict[str, Any]:
        """The JSON-RPC message in the body."""
        return json.loads(self.body)

    async def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        """A whole response; underscores in header names become dashes."""
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        head = "\r\n".join([f"HTTP/1.1 {status} Said", f"content-length: {len(body)}", *lines])
        self.writer.write(head.encode() + b"\r\n\r\n" + body)
        await self.writer.drain()

    async def json(self, value: object, status: int = 200, **headers: str) -> None:
        """A whole JSON response."""
        await self.answer(status, json.dumps(value).encode(), content_type="application/json", **headers)

    async def result(self, value: object, **headers: str) -> None:
        """The JSON-RPC result of this request."""
        await self.json({"jsonrpc": "2.0", "id": self.message["id"], "result": value}, 200, **headers)

    async def begin_events(self, **headers: str) -> None:
        """The head of an event stream."""
        lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items()]
        head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
        self.writer.write((head + "".join(lines) + "\r\n").encode())
        await self.writer.drain()

    async def event(self, text: str) -> None:
        """Some lines of an event stream, as they are."""
        data = text.encode()
        self.writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await self.writer.drain()

    async def frame(self, value: object, event_id: str = "") -> None:
        """One message as an event."""
        await self.event((f"id: {event_id}\n" if event_id else "") + f"data: {json.dumps(value)}\n\n")

    async def end_events(self) -> None:
        """The orderly end of an event stream."""
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    def cut(self) -> None:
        """Break the connection off."""
        transport = self.writer.transport
        transport.abort()

    async def client_gone(self) -> None:
        """Wait until the client has closed the connection."""
        with suppress(ConnectionError):
            await self.reader.read()


Handler = Callable[[Exchange], Awaitable[None]]


@dataclass(slots=True)
class Peer:
    """The running server, and what it was asked."""

    url: str
    asked: list[Exchange] = field(default_factory=list[Exchange])

    def of(self, verb: str) -> list[Exchange]:
        """What was asked by one verb."""
        return [exchange for exchange in self.asked if exchange.verb == verb]


@asynccontextmanager
async def http_peer(handler: Handler) -> AsyncGenerator[Peer]:
    """A server on a free port of the loopback interface, until the end of the block."""
    peer = Peer("")
    tasks: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            while (exchange := await read_request(reader, writer)) is not None:
                peer.asked.append(exchange)
                await handler(exchange)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    peer.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    try:
        yield peer
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await server.wait_closed()


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Exchange | None:
    """The next request of a connection, None when there is none."""
    line = await reader.readline()
    if not line:
        return None
    headers: dict[str, str] = {}
    while (header := (await reader.readline()).decode().strip()) != "":
        name, _, value = header.partition(":")
        headers[name.strip().lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Exchange(line.decode().split()[0], headers, body, reader, writer)


async def answer_json(exchange: Exchange) -> None:
    """Behave like the line peer of the channel tests, with whole JSON responses."""
    if exchange.verb != "POST":
        await exchange.answer(405)
    elif "id" not in exchange.message or "method" not in exchange.message:
        await exchange.answer(202)
    else:
        await exchange.result(contract_result(exchange.message))


async def answer_events(exchange: Exchange) -> None:
    """The same, with an event stream for each answer."""
    if exchange.verb != "POST" or "id" not in exchange.message or "method" not in exchange.message:
        await answer_json(exchange)
        return
    message = exchange.message
    await exchange.begin_events()
    await exchange.event(": hello\n\n")
    await exchange.frame({"jsonrpc": "2.0", "id": message["id"], "result": contract_result(message)})
    await exchange.end_events()


def contract_result(message: dict[str, Any]) -> object:
    """What the channel tests expect of any peer."""
    params = message["params"]
    return {"text": "x" * params["size"]} if message["method"] == "big" else params
