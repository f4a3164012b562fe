"""Doors of a house under test: memory channels and a real HTTP listener, and raw clients that speak through either.

The clients know nothing of Limen's own client code: they write JSON and read JSON, so that what goes over the wire
is what the test says.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

import httpx2

from limen.calls.call import Caller
from limen.protocol.versions import META_CLIENT_CAPABILITIES, META_CLIENT_INFO, META_VERSION
from limen.server.connection import serve_channel
from limen.server.guard import Guard
from limen.server.http import HttpDoor, HttpLimits
from limen.server.listener import ListenLimits, serve_http
from limen.server.responses import Scope
from limen.transport.channel import Channel
from limen.transport.memory import memory_pair
from limen.transport.sse import Event, EventParser
from tests.house import House, a_caller

SESSION, STATELESS = "2025-11-25", "2026-07-28"
USER_HEADER = "x-test-user"
MEDIA = {"content-type": "application/json", "accept": "application/json, text/event-stream"}

Message = dict[str, Any]


def envelope(version: Any = STATELESS, capabilities: Any = None, **more: Any) -> dict[str, Any]:
    """The `_meta` of a stateless request."""
    return {
        META_VERSION: version,
        META_CLIENT_CAPABILITIES: {} if capabilities is None else capabilities,
        META_CLIENT_INFO: {"name": "road", "version": "1"},
        **more,
    }


def hello(version: Any = SESSION, capabilities: Mapping[str, Any] | None = None) -> Message:
    """The params of `initialize`."""
    return {
        "protocolVersion": version,
        "capabilities": capabilities or {},
        "clientInfo": {"name": "road", "version": "1"},
    }


class Wire(Protocol):
    """One client on one transport, whatever it is."""

    news: "asyncio.Queue[Message]"
    """What came that was no answer: notifications, and requests of the server."""

    async def send(self, message: Message) -> Message | None:
        """Send a message; a request's answer comes back."""
        ...


class MemoryWire:
    """A client on a memory channel."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.news: asyncio.Queue[Message] = asyncio.Queue()
        self._waiting: dict[int | str, asyncio.Future[Message]] = {}

    async def read(self) -> None:
        """Pass on what the server sends, until it leaves."""
        while (frame := await self.channel.receive()) is not None:
            message: Message = json.loads(frame)
            waiting = self._waiting.pop(message.get("id") or "", None) if "method" not in message else None
            if waiting is not None:
                waiting.set_result(message)
            else:
                self.news.put_nowait(message)

    async def send(self, message: Message) -> Message | None:
        """Send a message; a request's answer comes back."""
        if "method" not in message or "id" not in message:
            await self.channel.send(json.dumps(message).encode())
            return None
        answer = self._waiting[message["id"]] = asyncio.get_running_loop().create_future()
        await self.channel.send(json.dumps(message).encode())
        return await answer


@dataclass(slots=True)
class Hub:
    """A house behind an HTTP listener."""

    url: str
    door: HttpDoor
    client: httpx2.AsyncClient
    stop: asyncio.Event

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.rpartition(":")[2])


class HttpWire:
    """A client of an HTTP hub; a session when it was opened as one."""

    def __init__(self, hub: Hub, *, user: str | None = None) -> None:
        self.hub = hub
        self.news: asyncio.Queue[Message] = asyncio.Queue()
        self.headers = dict(MEDIA) | ({USER_HEADER: user} if user else {})
        self.event_ids: list[str] = []
        self.comments: asyncio.Queue[None] = asyncio.Queue()

    async def send(self, message: Message) -> Message | None:
        """POST a message; a request's answer comes back, whether it came as JSON or on a stream."""
        async with self.hub.client.stream(
            "POST", "/mcp", content=json.dumps(message).encode(), headers=self.headers | routing(message)
        ) as response:
            if response.headers.get("content-type") == "text/event-stream":
                return await self._read(response)
            body = await response.aread()
            if response.headers.get("mcp-session-id"):
                self.headers["mcp-session-id"] = response.headers["mcp-session-id"]
            return json.loads(body) if body else None

    async def _read(self, response: httpx2.Response) -> Message | None:
        async for message in self.messages(response):
            if "method" not in message:
                return message
            self.news.put_nowait(message)
        return None

    async def messages(self, response: httpx2.Response) -> AsyncIterator[Message]:
        """The messages of an event stream, as they come."""
        parser = EventParser(1_000_000)
        async for chunk in response.aiter_raw():
            for _ in range(chunk.count(b": keepalive")):
                self.comments.put_nowait(None)
            for event in parser.feed(chunk):
                assert isinstance(event, Event)
                if event.event_id:
                    self.event_ids.append(event.event_id)
                if event.data:
                    yield json.loads(event.data)

    @asynccontextmanager
    async def stream(self, last_event_id: str | None = None) -> AsyncGenerator[httpx2.Response, None]:
        """The session's own event stream."""
        headers = self.headers | ({"last-event-id": last_event_id} if last_event_id is not None else {})
        async with self.hub.client.stream("GET", "/mcp", headers=headers) as response:
            yield response

    async def listen(self, opened: asyncio.Event) -> None:
        """Pass on what comes on the session's own stream, until it ends."""
        async with self.stream() as response:
            opened.set()
            async for message in self.messages(response):
                self.news.put_nowait(message)


def routing(message: Message) -> dict[str, str]:
    """The headers that a stateless client repeats of its message; none for a session."""
    params: Message = message.get("params", {})
    version = params.get("_meta", {}).get(META_VERSION)
    if version is None:
        return {}
    headers = {"mcp-protocol-version": str(version), "mcp-method": str(message.get("method"))}
    name = params.get("uri" if message.get("method") == "resources/read" else "name")
    return headers | ({"mcp-name": str(name)} if name is not None else {})


@dataclass(slots=True)
class Client:
    """A client of either revision on either transport, as tests use it."""

    wire: Wire
    revision: str
    transport: str
    house: House
    capabilities: dict[str, Any] = field(default_factory=dict[str, Any])
    _ids: "count[int]" = field(default_factory=lambda: count(1))

    async def ask(self, method: str, params: Message | None = None, *, message_id: int | str | None = None) -> Message:
        """The whole answer to a request."""
        answer = await self.wire.send(self.request(method, params, message_id=message_id))
        assert answer is not None
        return answer

    def request(self, method: str, params: Message | None = None, *, message_id: int | str | None = None) -> Message:
        """A request as this client writes it."""
        fresh = next(self._ids) if message_id is None else message_id
        filled = dict(params or {})
        if self.revision == STATELESS:
            filled["_meta"] = envelope(capabilities=self.capabilities) | filled.get("_meta", {})
        return {"jsonrpc": "2.0", "id": fresh, "method": method, "params": filled}

    async def result(self, method: str, params: Message | None = None) -> Message:
        """The result of a request that must not fail."""
        answer = await self.ask(method, params)
        assert "result" in answer, answer
        return answer["result"]

    async def error(self, method: str, params: Message | None = None) -> Message:
        """The error of a request that must fail."""
        answer = await self.ask(method, params)
        assert "error" in answer, answer
        return answer["error"]

    async def call(self, name: str, arguments: Message | None = None, **params: Any) -> Message:
        """The result of a tool call."""
        return await self.result("tools/call", {"name": name, "arguments": arguments or {}, **params})

    async def tell(self, method: str, params: Message | None = None) -> None:
        """Send a notification."""
        await self.wire.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    async def answer(self, message_id: int | str, result: object) -> None:
        """Answer something the server asked."""
        await self.wire.send({"jsonrpc": "2.0", "id": message_id, "result": result})

    async def hear(self, method: str) -> Message:
        """The next thing the server says under this method."""
        async with asyncio.timeout(4):
            while (message := await self.wire.news.get())["method"] != method:
                pass
        return message


@asynccontextmanager
async def open_memory(house: House, *, caller: Caller | None = None) -> AsyncGenerator[MemoryWire, None]:
    """A house behind a memory channel."""
    ours, theirs = memory_pair()
    wire = MemoryWire(theirs)
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(serve_channel(house.surface, caller or a_caller(), ours))
        reading = group.create_task(wire.read())
        try:
            yield wire
        finally:
            await theirs.aclose()
            await serving
            await ours.aclose()
            await reading


def who(scope: Scope) -> Caller:
    """Whoever the test says is calling; a real door looks at the connection or at a token."""
    for name, value in scope["headers"]:
        if name == USER_HEADER.encode():
            return a_caller(value.decode())
    return a_caller()


@asynccontextmanager
async def open_hub(house: House, limits: HttpLimits | None = None) -> AsyncGenerator[Hub, None]:
    """A house behind a real listener on a port of its own."""
    door = HttpDoor(house.surface, Guard.build("127.0.0.1", 0), who, limits or HttpLimits())
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()

    def on_ready(url: str) -> None:
        door.guard = Guard.build("127.0.0.1", int(url.rpartition(":")[2]))
        ready.set_result(url)

    async with door.running(), asyncio.TaskGroup() as group:
        group.create_task(
            serve_http(
                door,
                host="127.0.0.1",
                port=0,
                limits=ListenLimits(grace_s=0.2),
                on_ready=on_ready,
                stop=stop,
                on_stop=door.stop,
                on_cut=door.cut,
            )
        )
        try:
            url = await ready
            async with httpx2.AsyncClient(base_url=url, timeout=4.5, verify=False, trust_env=False) as client:
                yield Hub(url, door, client, stop)
        finally:
            stop.set()


@asynccontextmanager
async def open_client(
    house: House,
    transport: str,
    revision: str,
    *,
    capabilities: dict[str, Any] | None = None,
    limits: HttpLimits | None = None,
) -> AsyncGenerator[Client, None]:
    """A client that has said hello, on either transport, in either revision."""
    async with AsyncExitStack() as stack:
        wire: Wire
        if transport == "memory":
            wire = await stack.enter_async_context(open_memory(house))
        else:
            wire = HttpWire(await stack.enter_async_context(open_hub(house, limits)))
        client = Client(wire, revision, transport, house, capabilities or {})
        if revision == SESSION:
            await client.result("initialize", hello(capabilities=capabilities))
            if isinstance(wire, HttpWire):
                await stack.enter_async_context(_listening(wire))
            await client.tell("notifications/initialized")
        yield client


@asynccontextmanager
async def _listening(wire: HttpWire) -> AsyncGenerator[None, None]:
    opened = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(wire.listen(opened))
        await opened.wait()
        yield
        task.cancel()
