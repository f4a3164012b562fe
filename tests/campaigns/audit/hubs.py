"""Real hubs under load: started, kept busy by a client until they are killed, and asked what they acknowledged."""

import asyncio
import json
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, Protocol

import httpx2

from limen.protocol.versions import META_CLIENT_CAPABILITIES, META_CLIENT_INFO, META_VERSION

IN_FLIGHT = 8
OPTIONS = ("--toolsets", "hub,campaign", "--tier", "write")
CLIENT = {"name": "campaign", "version": "1"}
SESSION_REVISION, STATELESS_REVISION = "2025-11-25", "2026-07-28"


class Hub(Protocol):
    """One process that will be killed."""

    process: Process
    busy: asyncio.Event
    """Set once the first call has been answered."""
    acknowledged: list[str]
    refused: list[str]

    async def drive(self) -> None:
        """Call until the hub is gone."""
        ...


def calls(rng: Random) -> Iterator[dict[str, Any]]:
    """Params of an endless mix: reads and writes, most at once, a few slow."""
    while True:
        pause_ms = rng.choice((0, 0, 0, 0, 0, 0, 0, 5, 60, 120))
        yield {"name": rng.choice(("look", "change")), "arguments": {"pause_ms": pause_ms}}


class StdioHub:
    """`limen stdio` and its one client, in a session."""

    def __init__(self, process: Process, rng: Random) -> None:
        self.process = process
        self.busy = asyncio.Event()
        self.acknowledged: list[str] = []
        self.refused: list[str] = []
        self._calls = calls(rng)
        self._next_id = 1

    @classmethod
    async def start(cls, limen: Path, env: Mapping[str, str], rng: Random) -> "StdioHub":
        """Start it; it is not waited for."""
        process = await asyncio.create_subprocess_exec(limen, "stdio", *OPTIONS, stdin=PIPE, stdout=PIPE, env=env)
        return cls(process, rng)

    async def drive(self) -> None:
        """Keep calls in flight until the hub is gone, then read what it still had answered."""
        assert self.process.stdout is not None
        hello = {"protocolVersion": SESSION_REVISION, "capabilities": {}, "clientInfo": CLIENT}
        self._send({"id": 0, "method": "initialize", "params": hello})
        async for line in self.process.stdout:
            if not line.endswith(b"\n"):
                break
            reply = json.loads(line)
            if reply.get("id") == 0:
                self._send({"method": "notifications/initialized"})
                for _ in range(IN_FLIGHT):
                    self._call()
            elif "id" in reply:
                note(self, reply)
                self._call()
        await self.process.wait()

    def _call(self) -> None:
        self._send({"id": self._next_id, "method": "tools/call", "params": next(self._calls)})
        self._next_id += 1

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        if not self.process.stdin.is_closing():
            self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


class HttpHub:
    """`limen serve` and several clients without sessions."""

    def __init__(self, process: Process, rng: Random) -> None:
        self.process = process
        self.busy = asyncio.Event()
        self.acknowledged: list[str] = []
        self.refused: list[str] = []
        self._calls = calls(rng)

    @classmethod
    async def start(cls, limen: Path, env: Mapping[str, str], rng: Random) -> "HttpHub":
        """Start it on a port of its own choice; it is not waited for."""
        command = (limen, "serve", "--port", "0", "--json", *OPTIONS)
        return cls(await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE, env=env), rng)

    async def drive(self) -> None:
        """Keep calls in flight until the hub is gone."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        async with asyncio.TaskGroup() as group:
            group.create_task(self.process.stderr.read())
            ready = await self.process.stdout.readline()
            if ready:
                async with httpx2.AsyncClient(timeout=10) as client:
                    url = json.loads(ready)["url"]
                    async with asyncio.TaskGroup() as clients:
                        for _ in range(IN_FLIGHT):
                            clients.create_task(self._keep_calling(client, url))
        await self.process.wait()

    async def _keep_calling(self, client: httpx2.AsyncClient, url: str) -> None:
        with suppress(httpx2.TransportError):
            while True:
                reply = await client.post(url, **stateless_post(next(self._calls)))
                note(self, reply.json())


def stateless_post(params: dict[str, Any]) -> dict[str, Any]:
    """The body and headers of one call in the stateless revision."""
    meta = {META_VERSION: STATELESS_REVISION, META_CLIENT_INFO: CLIENT, META_CLIENT_CAPABILITIES: {}}
    return {
        "json": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**params, "_meta": meta}},
        "headers": {
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": STATELESS_REVISION,
            "mcp-method": "tools/call",
            "mcp-name": params["name"],
        },
    }


def note(hub: Hub, reply: dict[str, Any]) -> None:
    """Remember the call that was answered, or the refusal, which is one thing a hub must not do here."""
    hub.busy.set()
    if "result" in reply and not reply["result"].get("isError"):
        hub.acknowledged.append(reply["result"]["content"][0]["text"])
    else:
        hub.refused.append(json.dumps(reply))
