"""One raw client for both servers: it adds as little as it can and checks every answer."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import orjson

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": "init",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def echo_request(number: int) -> tuple[bytes, str]:
    """A call and the text that must come back."""
    said = f"hello {number}"
    call = {"name": "echo", "arguments": {"text": said}}
    return orjson.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}), said


def check_echo(reply: bytes, expected: dict[int, str]) -> None:
    """Fail loudly when an answer is not the one that was asked for."""
    message = orjson.loads(reply)
    said = message["result"]["content"][0]["text"]
    if said != expected.pop(message["id"]):
        raise AssertionError(f"wrong answer: {message}")


def cpu_s(pid: int) -> float:
    """CPU seconds of all threads of a process, to the nanosecond where the kernel tells."""
    try:
        tasks = Path(f"/proc/{pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
    except (FileNotFoundError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Sample:
    """What a number of calls cost the server."""

    cpu_us: float
    calls_per_s: float


async def measure(pid: int, calls: int, run: Callable[[], Awaitable[None]]) -> Sample:
    """Run the calls and see what they cost the server process."""
    loop = asyncio.get_running_loop()
    cpu, wall = cpu_s(pid), loop.time()
    await run()
    took = loop.time() - wall
    return Sample((cpu_s(pid) - cpu) / calls * 1e6, calls / took)


@dataclass(slots=True)
class StdioClient:
    """Speaks to a child over its pipes."""

    process: asyncio.subprocess.Process
    startup_cpu_s: float = 0.0
    _next: int = 0

    @classmethod
    async def start(cls, argv: list[str], env: dict[str, str]) -> "StdioClient":
        """Spawn the server and shake hands; what that cost it is kept."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, env=env, limit=1 << 20)
        client = cls(process)
        client._send(orjson.dumps(INITIALIZE))
        reply = await client._receive()
        client.startup_cpu_s = cpu_s(process.pid)
        if "result" not in orjson.loads(reply):
            raise AssertionError(f"no handshake: {reply!r}")
        client._send(orjson.dumps(INITIALIZED))
        return client

    def _send(self, frame: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(frame + b"\n")

    async def _receive(self) -> bytes:
        assert self.process.stdout is not None
        line = await self.process.stdout.readline()
        if not line:
            raise AssertionError("the server is gone")
        return line

    async def echo(self, calls: int, in_flight: int) -> Sample:
        """This many calls, so many at a time."""

        async def run() -> None:
            expected: dict[int, str] = {}
            sent = 0
            for _ in range(calls):
                while sent < calls and len(expected) < in_flight:
                    self._next += 1
                    frame, expected[self._next] = echo_request(self._next)
                    self._send(frame)
                    sent += 1
                check_echo(await self._receive(), expected)

        return await measure(self.process.pid, calls, run)

    async def stop(self) -> None:
        """End the server."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), 5)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


@dataclass(slots=True)
class HttpClient:
    """Speaks HTTP/1.1 over keep-alive connections, one call at a time on each."""

    process: asyncio.subprocess.Process
    port: int
    session: str = ""
    _next: int = 0

    @classmethod
    async def start(cls, argv: list[str], env: dict[str, str], port: int) -> "HttpClient":
        """Spawn the server, wait for its port, open a session."""
        null = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(*argv, stdout=null, stderr=null, env=env)
        client = cls(process, port)
        for _ in range(400):
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                break
            except ConnectionRefusedError:
                await asyncio.sleep(0.05)
        else:
            raise AssertionError("the server never listened")
        headers, _ = await client._post(reader, writer, orjson.dumps(INITIALIZE))
        client.session = headers["mcp-session-id"]
        await client._post(reader, writer, orjson.dumps(INITIALIZED))
        writer.close()
        return client

    async def _post(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes
    ) -> tuple[dict[str, str], bytes]:
        session = f"Mcp-Session-Id: {self.session}\r\nMCP-Protocol-Version: 2025-11-25\r\n" if self.session else ""
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\n{session}Content-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:-2])}
        if lines[0].split()[1] not in ("200", "202"):
            raise AssertionError(lines[0])
        if headers.get("transfer-encoding") == "chunked":
            return headers, await _chunks(reader)
        return headers, await reader.readexactly(int(headers.get("content-length", 0)))

    async def echo(self, calls: int, in_flight: int) -> Sample:
        """This many calls over so many connections."""
        lines = [await asyncio.open_connection("127.0.0.1", self.port) for _ in range(in_flight)]

        async def work(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: int) -> None:
            for _ in range(count):
                self._next += 1
                number = self._next
                frame, said = echo_request(number)
                _, body = await self._post(reader, writer, frame)
                check_echo(_payload(body), {number: said})

        async def run() -> None:
            async with asyncio.TaskGroup() as group:
                for reader, writer in lines:
                    group.create_task(work(reader, writer, calls // in_flight))

        sample = await measure(self.process.pid, calls // in_flight * in_flight, run)
        for _, writer in lines:
            writer.close()
        return sample

    async def stop(self) -> None:
        """End the server."""
        self.process.terminate()
        try:
            await asyncio.wait_for(self.process.wait(), 8)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return body


def _payload(body: bytes) -> bytes:
    """The reply in a JSON body, or in the last event of a stream."""
    if body.startswith(b"{"):
        return body
    data = [line[5:].strip() for line in body.splitlines() if line.startswith(b"data:")]
    return data[-1]
