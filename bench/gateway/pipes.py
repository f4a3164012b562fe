"""One raw client on the pipes of a child, for Limen and for the server behind it alike; it checks every answer."""

import asyncio
from dataclasses import dataclass, field
from itertools import count
from statistics import median, quantiles
from time import perf_counter
from typing import Any

import orjson

from bench.wire.clients import INITIALIZE, INITIALIZED, cpu_s

LINE_BYTES = 1 << 24


@dataclass(frozen=True, slots=True)
class Round:
    """What a number of calls took."""

    waits_ms: list[float]
    calls_per_s: float
    cpu_ms: float
    """CPU of the child per call."""

    @property
    def p50_ms(self) -> float:
        """Half of the calls took less."""
        return median(self.waits_ms)

    @property
    def p99_ms(self) -> float:
        """One in a hundred took longer."""
        return quantiles(self.waits_ms, n=100)[98]


@dataclass(slots=True)
class PipeClient:
    """Speaks 2025-11-25 to a child."""

    process: asyncio.subprocess.Process
    _ids: "count[int]" = field(default_factory=lambda: count(1))

    @classmethod
    async def start(cls, argv: list[str], env: dict[str, str]) -> "PipeClient":
        """Spawn the server and shake hands."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, env=env, limit=LINE_BYTES)
        client = cls(process)
        client._send(INITIALIZE)
        await client._receive()
        client._send(INITIALIZED)
        return client

    @property
    def cpu_s(self) -> float:
        """What the child has used up."""
        return cpu_s(self.process.pid)

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(orjson.dumps(message) + b"\n")

    async def _receive(self) -> bytes:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            # News of changed lists may come at any time.
            if not line.startswith(b'{"jsonrpc":"2.0","method"'):
                return line
        raise AssertionError("the server is gone")

    async def ask(self, method: str, params: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        """One request, alone: the ms until its bytes were here, and the answer, result or error."""
        number, start = next(self._ids), perf_counter()
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while True:
            line = await self._receive()
            took_ms = (perf_counter() - start) * 1000
            answer = orjson.loads(line)
            if answer["id"] == number:
                return took_ms, answer

    async def list_tools(self) -> tuple[float, int]:
        """How long `tools/list` took, in ms, and how many tools it told."""
        took_ms, answer = await self.ask("tools/list", {})
        return took_ms, len(answer["result"]["tools"])

    async def call(self, tool: str) -> tuple[float, bool]:
        """One call: how long it took, in ms, and whether it had a result."""
        took_ms, answer = await self.ask("tools/call", {"name": tool, "arguments": {"text": "alone"}})
        return took_ms, "result" in answer

    def begin(self, tool: str) -> int:
        """Make a call that is answered while others are made; they read past its answer."""
        number = next(self._ids)
        self._send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": {}}})
        return number

    async def call_often(self, tool: str, calls: int, in_flight: int = 1) -> Round:
        """So many echo calls, so many at a time."""
        expected: dict[int, tuple[str, float]] = {}
        waits: list[float] = []
        sent = 0
        cpu, start = self.cpu_s, perf_counter()
        while len(waits) < calls:
            while sent < calls and len(expected) < in_flight:
                number, sent = next(self._ids), sent + 1
                said = f"hello {number}"
                expected[number] = said, perf_counter()
                params = {"name": tool, "arguments": {"text": said}}
                self._send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
            message = orjson.loads(await self._receive())
            if message["id"] not in expected:
                continue
            said, begun = expected.pop(message["id"])
            waits.append((perf_counter() - begun) * 1000)
            if message["result"]["content"][0]["text"] != said:
                raise AssertionError(f"wrong answer: {message}")
        return Round(waits, calls / (perf_counter() - start), (self.cpu_s - cpu) / calls * 1000)

    async def stop(self) -> None:
        """End the server."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), 15)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
