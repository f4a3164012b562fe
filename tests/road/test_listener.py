"""The HTTP listener as clients meet it, the well-behaved and the others, over real sockets and on both event loops."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

import pytest

from limen.errors import ConfigInvalid
from limen.server.listener import LINE, App, Line, ListenLimits, serve_http
from limen.server.responses import Receive, Scope, Send, send_json
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

HASTY = ListenLimits(
    header_timeout_s=0.2, body_timeout_s=0.2, request_timeout_s=0.3, keep_alive_s=0.3, stall_timeout_s=0.2, grace_s=0.2
)
PATIENT = ListenLimits()
GET = b"GET /hello HTTP/1.1\r\nhost: x\r\n\r\n"
HELLO = b'{"hello":true}'


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": request.param}


class Client:
    """A raw connection: what a test writes is what the wire carries."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def answer(self) -> tuple[int, bytes]:
        """Status and body of the next response that has a content-length."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
        return int(head.split()[1]), await self.reader.readexactly(length)

    async def last_words(self) -> bytes:
        """Everything up to the end of the connection."""
        said = b""
        with suppress(ConnectionError):
            while chunk := await self.reader.read(65536):
                said += chunk
        return said

    async def push(self, data: bytes) -> NoReturn:
        """Send without an end."""
        while True:
            self.send(data)
            await self.writer.drain()

    async def get(self) -> tuple[int, bytes]:
        self.send(GET)
        return await self.answer()


@dataclass
class Listener:
    """A listener under test."""

    port: int
    stop: asyncio.Event
    writers: list[asyncio.StreamWriter] = field(default_factory=list[asyncio.StreamWriter])

    async def connect(self) -> Client:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writers.append(writer)
        return Client(reader, writer)


@asynccontextmanager
async def listening(
    app: App, limits: ListenLimits = PATIENT, on_stop: Callable[[], None] | None = None
) -> AsyncGenerator[Listener]:
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(
            serve_http(
                app, host="127.0.0.1", port=0, limits=limits, on_ready=ready.set_result, stop=stop, on_stop=on_stop
            )
        )
        listener = Listener(int((await ready).rsplit(":", 1)[1]), stop)
        try:
            yield listener
        finally:
            for writer in listener.writers:
                writer.close()
            stop.set()


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    """Read everything, answer shortly."""
    while (await receive()).get("more_body"):
        pass
    await send_json(send, HELLO)


async def measure(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the size of the body and the names of the headers."""
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    await send_json(send, b"%d %s" % (size, b",".join(name for name, _ in scope["headers"])))


@dataclass
class Witness:
    """An app that holds every request until it is released, and notes what becomes of it."""

    started: asyncio.Event = field(default_factory=asyncio.Event)
    release: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    lines: list[Line] = field(default_factory=list[Line])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        line: Line = scope[LINE]
        self.lines.append(line)
        line.on_close(self.closed.set)
        self.started.set()
        await self.release.wait()
        await send_json(send, HELLO)


@dataclass
class Flood:
    """An app that streams without an end, until its client is gone."""

    started: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    chunk: bytes = b"x" * 65536

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[LINE].on_close(self.closed.set)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while not self.closed.is_set():
            await send({"type": "http.response.body", "body": self.chunk, "more_body": True})
            self.started.set()
            await asyncio.sleep(0)


async def test_requests_follow_each_other_on_one_connection() -> None:
    async with listening(hello) as listener:
        client = await listener.connect()
        assert [await client.get() for _ in range(3)] == [(200, HELLO)] * 3


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with listening(measure) as listener:
        client = await listener.connect()
        for size in (1, 2, 3):
            client.send(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%s" % (size, b"y" * size))
        assert [(await client.answer())[1].split()[0] for _ in range(3)] == [b"1", b"2", b"3"]


async def test_a_flood_of_pipelined_requests_ends_the_connection() -> None:
    witness = Witness()
    async with listening(witness) as listener:
        client = await listener.connect()
        client.send(GET * 1000)
        assert await client.last_words() == b""
        await witness.closed.wait()
        witness.release.set()


async def test_a_chunked_body_arrives_whole_and_its_trailers_change_no_header() -> None:
    async with listening(measure) as listener:
        client = await listener.connect()
        client.send(b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
        client.send(b"5\r\nhello\r\n3;ext=1\r\nyou\r\n0\r\norigin: http://evil.example\r\n\r\n")
        assert await client.answer() == (200, b"8 host,transfer-encoding")


@pytest.mark.parametrize("size", [1, 8 * 1024, 70_000, 1_000_000])
async def test_bodies_of_any_size_arrive_whole(size: int) -> None:
    async with listening(measure) as listener:
        client = await listener.connect()
        for _ in range(2):
            client.send(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % size + b"y" * size)
            status, body = await client.answer()
            assert (status, body.split()[0]) == (200, b"%d" % size)


async def test_an_offer_to_upgrade_is_ignored_and_the_request_served() -> None:
    async with listening(measure) as listener:
        client = await listener.connect()
        offer = b"connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n"
        client.send(b"POST / HTTP/1.1\r\nhost: x\r\n" + offer + b"content-length: 2\r\n\r\nab")
        status, body = await client.answer()
        assert (status, body.split()[0]) == (200, b"2")
        client.send(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n")
        assert (await client.answer())[0] == 200


@pytest.mark.parametrize(
    "noise", [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", b"HELO x\r\n\r\n", b"GET / HTTP/1.1\r\n:\r\n\r\n"]
)
async def test_what_is_not_http_is_told_so_and_closed(noise: bytes) -> None:
    async with listening(hello) as listener:
        client = await listener.connect()
        client.send(noise)
        assert (await client.last_words()).startswith(b"HTTP/1.1 400 ")
        assert await (await listener.connect()).get() == (200, HELLO)


@requirement("http.half-open-closed")
@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"", b""),
        (b"\r\n\r\n", b""),
        (b"GET /he", b"408"),
        (b"GET /hello HTTP/1.1\r\nhost: x\r\n", b"408"),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhalf", b"408"),
        (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel", b"408"),
        (GET + b"GET /se", b"408"),
        (GET, b""),
    ],
    ids=["nothing", "blank lines", "request line", "headers", "body", "chunk", "next request", "idle"],
)
async def test_a_connection_that_goes_quiet_is_closed(sent: bytes, status: bytes) -> None:
    async with listening(hello, HASTY) as listener:
        client = await listener.connect()
        client.send(sent)
        if sent.startswith(GET):
            assert await client.answer() == (200, HELLO)
        assert (await client.last_words())[9:12] == status


@requirement("http.half-open-closed")
@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"GET /hello HTTP/1.1\r\nhost: x\r\nx-drip: ",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1;",
    ],
    ids=["request line", "headers", "body", "chunk extension"],
)
async def test_dripping_bytes_buys_no_time(start: bytes) -> None:
    async with listening(hello, HASTY) as listener:
        client = await listener.connect()
        client.send(start)

        async def drip() -> None:
            while True:
                client.send(b"G")
                await asyncio.sleep(0.02)

        async with asyncio.TaskGroup() as group:
            dripping = group.create_task(drip())
            said = await client.last_words()
            dripping.cancel()
        assert said[9:12] == (b"408" if start else b"400")


async def test_a_request_cut_off_half_way_tells_its_app() -> None:
    told: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        message = await receive()
        while message["type"] != "http.disconnect":
            message = await receive()
        told.set_result(message)

    async with listening(app, HASTY) as listener:
        client = await listener.connect()
        client.send(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhalf")
        assert (await client.last_words()).startswith(b"HTTP/1.1 408 ")
        assert await told == {"type": "http.disconnect"}


async def test_a_request_being_served_outlives_every_deadline() -> None:
    witness = Witness()
    async with listening(witness, HASTY) as listener:
        client = await listener.connect()
        client.send(GET)
        await witness.started.wait()
        # Connections that are given up one after the other are the clock of this test.
        for _ in range(3):
            assert await (await listener.connect()).last_words() == b""
        witness.release.set()
        assert await client.answer() == (200, HELLO)


async def test_a_body_that_the_app_does_not_take_yet_is_not_its_senders_delay() -> None:
    witness = Witness()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await witness(scope, receive, _ignore)
        await measure(scope, receive, send)

    async with listening(app, HASTY) as listener:
        client = await listener.connect()
        client.send(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3000000\r\n\r\n" + b"y" * 3_000_000)
        await witness.started.wait()
        for _ in range(3):
            assert await (await listener.connect()).last_words() == b""
        witness.release.set()
        assert (await client.answer())[1].startswith(b"3000000 ")


async def _ignore(message: dict[str, Any]) -> None:
    """Send nothing."""


async def test_a_client_that_reads_nothing_is_dropped() -> None:
    flood = Flood()
    async with listening(flood, HASTY) as listener:
        client = await listener.connect()
        client.send(GET)
        # Nobody takes what comes in here, and a stream that holds its fill reads no more.
        await flood.closed.wait()


@requirement("http.connection-cap")
async def test_connections_past_the_cap_are_refused_and_those_within_it_served() -> None:
    async with listening(hello, ListenLimits(max_connections=2)) as listener:
        inside = [await listener.connect() for _ in range(2)]
        for client in inside:
            assert await client.get() == (200, HELLO)
        for _ in range(20):
            refused = (await (await listener.connect()).last_words()).lower()
            assert refused.startswith(b"http/1.1 503 ")
            assert b"\r\nretry-after: " in refused
            assert [await client.get() for client in inside] == [(200, HELLO)] * 2


async def test_a_place_under_the_cap_is_free_again_when_a_client_leaves() -> None:
    witness = Witness()
    async with listening(witness, ListenLimits(max_connections=1)) as listener:
        first = await listener.connect()
        first.send(GET)
        await witness.started.wait()
        first.writer.close()
        await witness.closed.wait()
        witness.release.set()
        assert await (await listener.connect()).get() == (200, HELLO)


@pytest.mark.parametrize("start", [b"GET /", b"GET / HTTP/1.1\r\nhost: x\r\nx-big: "])
async def test_headers_past_their_cap_are_refused(start: bytes) -> None:
    async with listening(hello) as listener:
        client = await listener.connect()
        assert await client.get() == (200, HELLO)
        client.send(start + b"y" * 100_000)
        assert (await client.last_words()).startswith(b"HTTP/1.1 431 ")
        assert await (await listener.connect()).get() == (200, HELLO)


async def test_headers_within_their_cap_pass_also_in_small_pieces() -> None:
    async with listening(hello) as listener:
        client = await listener.connect()
        client.send(b"GET / HTTP/1.1\r\nhost: x\r\n")
        for number in range(60):
            client.send(b"x-%d: %s\r\n" % (number, b"y" * 1000))
            await client.writer.drain()
        client.send(b"\r\n")
        assert await client.answer() == (200, HELLO)


async def test_trailers_without_an_end_are_refused() -> None:
    async with listening(hello) as listener:
        client = await listener.connect()
        client.send(b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx: ")
        client.send(b"y" * 2_000_000)
        assert (await client.last_words()).startswith(b"HTTP/1.1 431 ")


async def test_an_answer_before_the_body_keeps_the_connection_when_the_rest_is_small() -> None:
    async with listening(_answer_at_once) as listener:
        client = await listener.connect()
        client.send(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5000\r\n\r\n")
        assert (await client.answer())[0] == 413
        client.send(b"y" * 5000 + GET)
        assert (await client.answer())[0] == 413


async def test_an_answer_before_a_large_body_does_not_read_it_to_its_end() -> None:
    async with listening(_answer_at_once) as listener:
        client = await listener.connect()
        client.send(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 900000000\r\n\r\n")
        assert (await client.answer())[0] == 413
        with pytest.raises(ConnectionError):
            await client.push(b"y" * 65536)


async def test_a_client_that_waits_to_be_told_is_told_or_closed() -> None:
    ask = b"POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n"
    async with listening(measure) as listener:
        client = await listener.connect()
        client.send(ask)
        assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.send(b"ab")
        assert (await client.answer())[1].startswith(b"2 ")
    async with listening(_answer_at_once) as listener:
        client = await listener.connect()
        client.send(ask)
        assert (await client.last_words()).startswith(b"HTTP/1.1 413 ")


async def _answer_at_once(scope: Scope, receive: Receive, send: Send) -> None:
    await send_json(send, b"{}", status=413)


async def test_an_app_hears_that_its_client_left() -> None:
    witness = Witness()
    async with listening(witness) as listener:
        client = await listener.connect()
        client.send(GET)
        await witness.started.wait()
        assert not witness.closed.is_set()
        client.writer.close()
        await witness.closed.wait()
        late: list[str] = []
        witness.lines[0].on_close(lambda: late.append("called"))
        assert late == ["called"]
        witness.release.set()


async def test_an_app_hears_that_its_client_left_also_with_requests_queued_behind() -> None:
    witness = Witness()
    async with listening(witness) as listener:
        client = await listener.connect()
        client.send(GET)
        await witness.started.wait()
        client.send(b"GET /part")
        client.writer.close()
        await witness.closed.wait()
        witness.release.set()


async def test_a_line_that_closes_after_the_response_calls_nobody_back() -> None:
    called: list[str] = []
    witness = Witness()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/first":
            scope[LINE].on_close(lambda: called.append("first"))
            await send_json(send, HELLO)
        else:
            scope[LINE].on_close(lambda: called.append("removed"))()
            await witness(scope, receive, send)

    async with listening(app) as listener:
        client = await listener.connect()
        client.send(b"GET /first HTTP/1.1\r\nhost: x\r\n\r\n")
        assert await client.answer() == (200, HELLO)
        client.send(b"GET /second HTTP/1.1\r\nhost: x\r\n\r\n")
        await witness.started.wait()
        client.writer.close()
        await witness.closed.wait()
        witness.release.set()
    assert called == []


async def test_an_aborted_line_is_gone_at_once() -> None:
    witness = Witness()
    async with listening(witness) as listener:
        client = await listener.connect()
        client.send(GET)
        await witness.started.wait()
        witness.lines[0].abort()
        assert await client.last_words() == b""
        await witness.closed.wait()
        witness.release.set()


async def test_a_stop_lets_a_running_request_finish_and_admits_nobody_else() -> None:
    witness = Witness()
    async with listening(witness, on_stop=witness.release.set) as listener:
        client = await listener.connect()
        client.send(GET)
        idle = await listener.connect()
        await witness.started.wait()
        listener.stop.set()
        assert await client.answer() == (200, HELLO)
        assert await client.last_words() == b""
        assert await idle.last_words() == b""
    with pytest.raises(ConnectionError):
        await asyncio.open_connection("127.0.0.1", listener.port)


@pytest.mark.parametrize("deafness", ["none", "to its client", "to all but cancellation"])
async def test_a_stop_ends_within_its_grace_whatever_the_app_does(deafness: str) -> None:
    flood, witness = Flood(chunk=b"x"), Witness()

    async def deaf(scope: Scope, receive: Receive, send: Send) -> None:
        await witness(scope, receive, send)

    app: App = flood if deafness == "none" else deaf
    async with listening(app, HASTY) as listener:
        client = await listener.connect()
        client.send(GET)
        await (flood if deafness == "none" else witness).started.wait()
        listener.stop.set()
        await client.last_words()
        if deafness == "to its client":
            witness.release.set()


async def test_a_termination_signal_stops_the_listener() -> None:
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    before = signal.getsignal(signal.SIGTERM)
    async with asyncio.TaskGroup() as group:
        group.create_task(serve_http(hello, host="127.0.0.1", port=0, limits=HASTY, on_ready=ready.set_result))
        await ready
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == before


async def test_a_second_signal_waits_for_no_response() -> None:
    flood = Flood(chunk=b"x")
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stopping = asyncio.Event()
    limits = ListenLimits(grace_s=3600)
    async with asyncio.TaskGroup() as group:
        group.create_task(
            serve_http(flood, host="127.0.0.1", port=0, limits=limits, on_ready=ready.set_result, on_stop=stopping.set)
        )
        client = await Listener(int((await ready).rsplit(":", 1)[1]), stopping).connect()
        client.send(GET)
        await flood.started.wait()
        os.kill(os.getpid(), signal.SIGINT)
        await stopping.wait()
        os.kill(os.getpid(), signal.SIGINT)
    client.writer.close()


@requirement("cli.serve-port-taken")
async def test_a_taken_port_is_named_with_its_fix() -> None:
    async with listening(hello) as listener:
        with pytest.raises(ConfigInvalid, match=f"port {listener.port} is taken.*--port"):
            await serve_http(hello, host="127.0.0.1", port=listener.port, limits=PATIENT, on_ready=lambda url: None)


@pytest.mark.parametrize("host", ["host.invalid", "192.0.2.1"])
async def test_a_host_that_is_not_here_is_named_with_its_fix(host: str) -> None:
    with pytest.raises(ConfigInvalid, match=r"host .*--host"):
        await serve_http(hello, host=host, port=0, limits=PATIENT, on_ready=lambda url: None)


@pytest.mark.parametrize(
    ("host", "shown"),
    [("127.0.0.1", "http://127.0.0.1:"), ("localhost", "http://localhost:"), ("0.0.0.0", "http://127.0.0.1:")],
)
async def test_the_url_is_one_that_can_be_opened_here(host: str, shown: str) -> None:
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(serve_http(hello, host=host, port=0, limits=PATIENT, on_ready=ready.set_result, stop=stop))
        url = await ready
        assert url.startswith(shown)
        with socket.create_connection((shown[7:-1], int(url.rsplit(":", 1)[1]))):
            stop.set()


def test_the_server_library_is_loaded_with_the_first_listener_only() -> None:
    code = "import sys, limen.server.listener; sys.exit('uvicorn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=20).returncode == 0


async def brisk(scope: Scope, receive: Receive, send: Send) -> None:
    """Take the short way wherever there is one, and say which was taken."""
    line: Line = scope[LINE]
    body = line.take_body(scope)
    way = b"short" if body is not None else b"long"
    while body is None:
        message = await receive()
        body = None if message.get("more_body") else message["body"]
    answer = b"%b %d" % (way, len(body))
    if not line.respond(scope, b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n", answer):
        await send_json(send, answer + b" sent")


@pytest.mark.parametrize(
    ("request_head", "answer"),
    [
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nbody", b"short 4"),
        (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n", b"short 4"),
        (b"POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\nbody", b"short 4"),
        (GET, b"short 0"),
        (b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", b"short 0 sent"),
        (b"GET / HTTP/1.0\r\nhost: x\r\n\r\n", b"short 0 sent"),
    ],
)
async def test_a_request_that_came_whole_can_be_read_and_answered_the_short_way(
    request_head: bytes, answer: bytes
) -> None:
    async with listening(brisk) as listener:
        client = await listener.connect()
        client.send(request_head)
        assert await client.answer() == (200, answer)
        if answer.endswith(b"sent"):
            assert await client.reader.read() == b""
        else:
            assert await client.get() == (200, b"short 0")


async def test_a_body_that_comes_in_parts_is_received_the_long_way() -> None:
    async with listening(brisk) as listener:
        client = await listener.connect()
        client.send(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\n")
        await client.writer.drain()
        # The listener has seen the head once it has answered somebody who came later.
        assert await (await listener.connect()).get() == (200, b"short 0")
        client.send(b"body")
        assert await client.answer() == (200, b"long 4")


async def test_requests_in_one_piece_are_answered_in_their_order_the_short_way() -> None:
    async with listening(brisk) as listener:
        client = await listener.connect()
        sizes = [3, 0, 70_000, 1]
        client.send(
            b"".join(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b" % (n, b"x" * n) for n in sizes)
        )
        answers = [await client.answer() for _ in sizes]
    assert [(status, body.split()[1]) for status, body in answers] == [(200, b"%d" % size) for size in sizes]


async def test_nobody_answers_or_reads_a_request_that_is_not_theirs_or_twice() -> None:
    earlier: list[Scope] = []
    refused: list[object] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        line: Line = scope[LINE]
        for old in earlier:
            refused.extend((line.take_body(old), line.respond(old, b"HTTP/1.1 200 OK\r\n", b"stale")))
        earlier.append(scope)
        await send_json(send, HELLO)
        refused.append(line.respond(scope, b"HTTP/1.1 200 OK\r\n", b"again"))

    async with listening(app) as listener:
        client = await listener.connect()
        assert [await client.get() for _ in range(2)] == [(200, HELLO)] * 2
    assert refused == [False, None, False, False]


async def test_an_app_that_never_waits_and_fails_is_answered_for_and_the_next_one_served() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/fail":
            raise LookupError("broken")
        await send_json(send, HELLO)

    async with listening(app) as listener:
        client = await listener.connect()
        client.send(b"GET /fail HTTP/1.1\r\nhost: x\r\n\r\n")
        assert (await client.answer())[0] == 500
        assert await (await listener.connect()).get() == (200, HELLO)
