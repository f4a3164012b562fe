"""Raw HTTP clients of revision 2025-11-25: one connection for requests, answers read from JSON or from a stream."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

Message = dict[str, Any]
Answer = Callable[[Message], Any]

REVISION = "2025-11-25"
LINE_BYTES = 1 << 22


class Client:
    """A session. What the hub says at a call is kept with the call; what it asks is answered by `answer`."""

    def __init__(self, host: str, port: int, *, answer: Answer | None = None) -> None:
        self._host, self._port = host, port
        self._answer = answer
        self._session = ""
        self._number = 0
        self._stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def open(self) -> None:
        """Say hello."""
        capabilities: Message = {"sampling": {}, "elicitation": {}} if self._answer else {}
        about = {"name": "campaign", "version": "1"}
        hello = {"protocolVersion": REVISION, "capabilities": capabilities, "clientInfo": about}
        await self.ask("initialize", hello)
        await self._tell({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def close(self) -> None:
        """Let the connection go."""
        if self._stream is not None:
            self._stream[1].close()
            self._stream = None

    async def call(self, tool: str, arguments: Message, **meta: Any) -> tuple[Message, list[Message]]:
        """The whole answer to a call, and all that was said at it before."""
        params: Message = {"name": tool, "arguments": arguments} | ({"_meta": meta} if meta else {})
        return await self._ask("tools/call", params)

    async def ask(self, method: str, params: Message) -> Message:
        """The whole answer to a request."""
        return (await self._ask(method, params))[0]

    async def _ask(self, method: str, params: Message) -> tuple[Message, list[Message]]:
        self._number += 1
        number = self._number
        heard: list[Message] = []
        async for message in self._post({"jsonrpc": "2.0", "id": number, "method": method, "params": params}):
            if "method" not in message:
                if message["id"] != number:
                    raise AssertionError(f"an answer to another request: {message}")
                return message, heard
            heard.append(message)
            if "id" in message and self._answer is not None:
                await self._tell({"jsonrpc": "2.0", "id": message["id"], "result": self._answer(message)})
        raise AssertionError(f"{method} was not answered")

    async def _tell(self, message: Message) -> None:
        """Send what has no answer, on a connection of its own: the other one may be at a stream."""
        reader, writer = await asyncio.open_connection(self._host, self._port)
        writer.write(self._request(json.dumps(message).encode()))
        status, _ = await _head(reader)
        writer.close()
        if status not in (200, 202):
            raise AssertionError(f"{message} was refused with {status}")

    async def _post(self, message: Message) -> AsyncIterator[Message]:
        if self._stream is None:
            self._stream = await asyncio.open_connection(self._host, self._port, limit=LINE_BYTES)
        reader, writer = self._stream
        writer.write(self._request(json.dumps(message).encode()))
        status, fields = await _head(reader)
        if status != 200:
            raise AssertionError(f"{message} was refused with {status}")
        self._session = self._session or fields.get("mcp-session-id", "")
        if fields.get("content-type") != "text/event-stream":
            yield json.loads(await reader.readexactly(int(fields["content-length"])))
            return
        async for event in _events(reader):
            yield event

    def _request(self, body: bytes) -> bytes:
        head = [
            "POST /mcp HTTP/1.1",
            f"host: {self._host}:{self._port}",
            "content-type: application/json",
            "accept: application/json, text/event-stream",
            f"content-length: {len(body)}",
        ]
        if self._session:
            head += [f"mcp-session-id: {self._session}", f"mcp-protocol-version: {REVISION}"]
        return "\r\n".join([*head, "", ""]).encode() + body


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:-2])}
    return int(lines[0].split()[1]), fields


async def _events(reader: asyncio.StreamReader) -> AsyncIterator[Message]:
    """The messages of a chunked event stream, to its end, so that the connection can be used again."""
    rest = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        rest += (await reader.readexactly(size + 2))[:-2]
        *events, rest = rest.split(b"\n\n")
        for event in events:
            data = b"".join(line[5:].strip() for line in event.split(b"\n") if line.startswith(b"data:"))
            if data:
                message: Message = json.loads(data)
                if "method" not in message:
                    await _finish(reader)
                    yield message
                    return
                yield message


async def _finish(reader: asyncio.StreamReader) -> None:
    while size := int(await reader.readuntil(b"\r\n"), 16):
        await reader.readexactly(size + 2)
    await reader.readexactly(2)


async def many(count: int, make: Callable[[int], Awaitable[None]]) -> None:
    """So many of something at once."""
    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(_awaited(make(number)))


async def _awaited(work: Awaitable[None]) -> None:
    await work
