"""Frames thrown at `limen serve`, as bodies of POSTs with headers that agree with them, or do not."""

import asyncio
import json
import signal
from contextlib import suppress
from dataclasses import dataclass
from itertools import count as counting
from random import Random
from time import monotonic
from typing import Any

from limen.protocol.versions import META_VERSION
from limen.shapes import is_object
from tests.campaigns.fuzz.frames import HELLO, Frame, Frames
from tests.campaigns.fuzz.hub import ANSWER_S, Fault, Figures, judge, memory_mb
from tests.servers.everything.running import ENDPOINT, Hub

__all__ = ["fuzz_http"]

CLIENTS = 4
UNREAD = 256 * 1024
STREAM_S = 0.02
"""How long an event stream is read before the client hangs up."""
MEDIA = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
ODD_HEADERS = [
    ("content-type", "text/plain"),
    ("content-type", "application/json; charset=utf-16"),
    ("accept", "text/html"),
    ("accept", "*/*"),
    ("mcp-session-id", "made-up"),
    ("mcp-session-id", "é" * 100),
    ("mcp-protocol-version", "2025-06-18"),
    ("mcp-protocol-version", "2026-07-28"),
    ("mcp-protocol-version", ""),
    ("mcp-method", "tools/list"),
    ("mcp-name", "=?base64?%%%?="),
    ("mcp-name", "x" * 3000),
    ("last-event-id", "9" * 5000),
    ("mcp-param-x", "1"),
    ("origin", "null"),
    ("content-encoding", "gzip"),
]


@dataclass(slots=True)
class _Response:
    status: int
    headers: dict[str, str]
    body: bytes
    is_open: bool
    """Whether the connection can be used again."""

    def message(self) -> dict[str, Any] | None:
        """The JSON-RPC answer in it, when it is one."""
        if self.headers.get("content-type") != "application/json":
            return None
        return json.loads(self.body)


class _Line:
    """One connection that is opened again whenever it was closed."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, verb: str, headers: dict[str, str], body: bytes) -> _Response:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=64 * 1024 * 1024)
        reader, writer = self._streams
        lines = [f"{name}: {value}" for name, value in headers.items()]
        head = [
            f"{verb} /mcp HTTP/1.1",
            f"host: 127.0.0.1:{self._port}",
            f"content-length: {len(body)}",
            *lines,
            "",
            "",
        ]
        writer.write("\r\n".join(head).encode("latin-1", "replace") + body)
        response = await _read(reader)
        if not response.is_open or len(body) > UNREAD:
            # A body that was refused unread is not read to its end, and so the connection is of no more use.
            self.hang_up()
        return response

    def hang_up(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def _read(reader: asyncio.StreamReader) -> _Response:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    status = int(head[0].split()[1])
    if "content-length" in headers:
        body = await reader.readexactly(int(headers["content-length"]))
        return _Response(status, headers, body, headers.get("connection") != "close")
    body = b""
    with suppress(TimeoutError, asyncio.IncompleteReadError):
        async with asyncio.timeout(STREAM_S):
            body = await reader.readuntil(b"\r\n0\r\n\r\n")
    return _Response(status, headers, body, is_open=body.endswith(b"0\r\n\r\n"))


class _Client:
    """Sends what it is given and checks what comes back."""

    def __init__(self, port: int, figures: Figures, random: Random) -> None:
        self._line = _Line(port)
        self._figures = figures
        self._random = random
        self._session = ""

    async def open(self) -> None:
        """Begin a session of its own."""
        hello = {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": HELLO}
        response = await self._line.send("POST", MEDIA, json.dumps(hello).encode())
        if response.status != 200:
            raise Fault(f"initialize was answered with {response.status}")
        self._session = response.headers["mcp-session-id"]

    async def send(self, frame: Frame) -> None:
        """POST one frame; a valid one must be answered."""
        headers = self._headers(frame)
        async with asyncio.timeout(ANSWER_S):
            try:
                response = await self._line.send("POST", headers, frame.data)
            except (OSError, asyncio.IncompleteReadError):
                # A body far past the limit is refused before it was read, and then the connection is closed.
                self._line.hang_up()
                if frame.expects or len(frame.data) < 1_000_000:
                    raise
                return
        self._figures.replies += 1
        self._figures.errors += response.status >= 400
        if response.status >= 500 and response.status != 503:
            raise Fault(f"{response.status} for {frame.data[:300]!r}")
        if frame.expects:
            self._check(frame, response)
        elif "mcp-session-id" in response.headers:
            # A session opened by the way would only be in the way.
            await self._line.send("DELETE", {"mcp-session-id": response.headers["mcp-session-id"]}, b"")

    def _check(self, frame: Frame, response: _Response) -> None:
        message = response.message()
        if response.status != 200 or message is None or not frame.is_answered_by(message):
            raise Fault(f"valid request {frame.data!r} was answered with {response.status} {response.body[:300]!r}")
        self._figures.answered += 1

    def _headers(self, frame: Frame) -> dict[str, str]:
        headers = dict(MEDIA)
        headers |= _routing(frame.message) or {"mcp-session-id": self._session}
        if not frame.expects and self._random.random() < 0.15:
            name, value = self._random.choice(ODD_HEADERS)
            headers[name] = value
        if not frame.expects and self._random.random() < 0.05:
            headers.pop(self._random.choice(list(headers)))
        return headers

    def close(self) -> None:
        self._line.hang_up()


def _routing(message: dict[str, Any] | None) -> dict[str, str]:
    """What a stateless client repeats of its message in headers; nothing for the other revision."""
    params = (message or {}).get("params")
    meta = params.get("_meta") if is_object(params) else None
    if message is None or not is_object(params) or not is_object(meta) or META_VERSION not in meta:
        return {}
    headers = {"mcp-protocol-version": _plain(meta[META_VERSION]), "mcp-method": _plain(message.get("method"))}
    name = params.get("uri" if message.get("method") == "resources/read" else "name")
    return headers | ({"mcp-name": _plain(name)} if name is not None else {})


def _plain(value: object) -> str:
    """Only what a header can hold; the rest makes for a mismatch, which is welcome."""
    return "".join(character for character in str(value)[:500] if character.isprintable())


async def fuzz_http(hub: Hub, count: int, seed: int) -> Figures:
    """Throw so many frames at one `limen serve`; the figures say how it bore them."""
    figures = Figures("http", seed)
    journal = hub.config.with_name("fuzz-http.log")
    began = monotonic()
    with journal.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            hub.command, "serve", "--config", str(hub.config), "--port", "0",
            stdout=asyncio.subprocess.PIPE, stderr=stderr, env=dict(hub.env),
        )  # fmt: skip
    exit_code: int | None = None
    try:
        port = await _port(process)
        await _play(port, process.pid, figures, count, seed)
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(ANSWER_S):
            exit_code = await process.wait()
    except* (Fault, TimeoutError, OSError, ValueError, EOFError) as failures:
        figures.faults += [f"{type(error).__name__}: {error}" for error in _flat(failures)]
        if process.returncode is None:
            process.kill()
        exit_code = await process.wait()
    figures.seconds = round(monotonic() - began, 1)
    judge(figures, journal, exit_code)
    return figures


def _flat(group: BaseExceptionGroup[Exception]) -> list[Exception]:
    found: list[Exception] = []
    for error in group.exceptions:
        found += _flat(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


async def _port(process: asyncio.subprocess.Process) -> int:
    assert process.stdout is not None
    async with asyncio.timeout(ANSWER_S):
        while line := await process.stdout.readline():
            found = ENDPOINT.search(line.decode())
            if found:
                return int(found[0].rpartition("/")[0].rpartition(":")[2])
    raise Fault("it ended before it was ready")


async def _play(port: int, pid: int, figures: Figures, count: int, seed: int) -> None:
    frames, tickets = iter(Frames(seed)), counting()

    async def work(number: int) -> None:
        client = _Client(port, figures, Random(f"{seed}-{number}"))
        try:
            await client.open()
            while next(tickets) < count:
                frame = next(frames)
                figures.frames += 1
                figures.valid += bool(frame.expects)
                if not figures.mb_early and figures.frames >= count // 5:
                    figures.mb_early = memory_mb(pid)
                await client.send(frame)
        finally:
            client.close()

    async with asyncio.TaskGroup() as group:
        for number in range(CLIENTS):
            group.create_task(work(number))
    figures.mb_late = memory_mb(pid)
