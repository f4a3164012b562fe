"""What every channel promises: whole frames, in order, within limits, and a clear end."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from limen.errors import ChannelClosed, RemoteError, TooLarge
from limen.protocol.frames import ErrorReply, Reply, encode_request, parse
from limen.transport.channel import Channel
from limen.transport.http import HttpOptions, open_http
from limen.transport.memory import memory_pair
from limen.transport.process import ChildCommand, open_child
from tests.environment import ROOT
from tests.requirements import requirement
from tests.servers.streamable import Handler, answer_events, answer_json, contract_result, http_peer

pytestmark = pytest.mark.anyio

LIMIT = 256 * 1024
SERVERS = ROOT / "tests" / "servers"

Opener = Callable[[], AbstractAsyncContextManager[Channel]]


@pytest.fixture(params=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """Both loops: Limen runs on uvloop where there is one."""
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


@asynccontextmanager
async def over_memory() -> AsyncGenerator[Channel]:
    ours, theirs = memory_pair(capacity=4)

    async def peer() -> None:
        while (frame := await theirs.receive()) is not None:
            request = json.loads(frame)
            if request["method"] == "leave":
                break
            result = json.dumps(contract_result(request))
            await theirs.send(f'{{"jsonrpc":"2.0","id":{request["id"]},"result":{result}}}'.encode())
        await theirs.aclose()

    async with asyncio.TaskGroup() as group:
        group.create_task(peer())
        yield ours
        await ours.aclose()


def over_child(*argv: str) -> Opener:
    command = ChildCommand([sys.executable, *argv], {"PATH": os.defpath, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT}/src"})
    return lambda: open_child(command, LIMIT)


def over_http(handler: Handler) -> Opener:
    @asynccontextmanager
    async def opened() -> AsyncGenerator[Channel]:
        async with http_peer(handler) as peer, open_http(peer.url, HttpOptions({}, LIMIT)) as channel:
            yield channel

    return opened


PIPES: dict[str, Opener] = {
    "child": over_child(str(SERVERS / "lines.py")),
    "own stdio on asyncio": over_child(str(SERVERS / "own_stdio.py"), "asyncio"),
    "own stdio on uvloop": over_child(str(SERVERS / "own_stdio.py"), "uvloop"),
}
STREAMS: dict[str, Opener] = {"memory": over_memory, **PIPES}
EVERY: dict[str, Opener] = {
    **STREAMS,
    "http with JSON": over_http(answer_json),
    "http with events": over_http(answer_events),
}

every_channel = pytest.mark.parametrize("opened", EVERY.values(), ids=EVERY.keys())
every_stream = pytest.mark.parametrize("opened", STREAMS.values(), ids=STREAMS.keys())
every_pipe = pytest.mark.parametrize("opened", PIPES.values(), ids=PIPES.keys())


def asking(number: int, text: str = "") -> bytes:
    return encode_request(number, "echo", json.dumps({"text": text}).encode())


async def next_reply(channel: Channel) -> tuple[Any, Any]:
    frame = await channel.receive()
    assert frame is not None, "the channel has ended"
    reply = parse(frame)
    if isinstance(reply, ErrorReply):
        raise RemoteError(reply.message, rpc_code=reply.code)
    assert isinstance(reply, Reply)
    return reply.id, json.loads(reply.result)


async def ask_and_hear(channel: Channel, frame: bytes) -> bytes | None:
    await channel.send(frame)
    return await channel.receive()


async def send_for_ever(channel: Channel, frame: bytes, sent: list[bytes]) -> None:
    while True:
        await channel.send(frame)
        sent.append(frame)
        await asyncio.sleep(0)


@requirement("channel.contract")
@every_channel
async def test_frames_arrive_whole_and_in_order(opened: Opener) -> None:
    async with opened() as channel:
        for number in range(50):
            await channel.send(asking(number, "ü" * number))
            assert await next_reply(channel) == (number, {"text": "ü" * number})


@every_stream
async def test_frames_sent_without_waiting_keep_their_order(opened: Opener) -> None:
    async with opened() as channel, asyncio.TaskGroup() as group:

        async def send_all() -> None:
            for number in range(500):
                await channel.send(asking(number))

        group.create_task(send_all())
        assert [(await next_reply(channel))[0] for _ in range(500)] == list(range(500))


@requirement("channel.contract")
@every_channel
async def test_senders_at_once_never_mix_their_bytes(opened: Opener) -> None:
    texts = {number: chr(97 + number % 26) * (number * 997 % 50_000) for number in range(64)}
    async with opened() as channel, asyncio.TaskGroup() as group:
        for number, text in texts.items():
            group.create_task(channel.send(asking(number, text)))
        replies = [await next_reply(channel) for _ in texts]
    assert {number: result["text"] for number, result in replies} == texts


@every_channel
async def test_a_frame_written_over_several_lines_arrives_as_one(opened: Opener) -> None:
    pretty = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"text": "a", "indent": 2}}, indent=2)
    async with opened() as channel:
        await channel.send(pretty.replace("\n", "\r\n").encode())
        assert await next_reply(channel) == (1, {"text": "a", "indent": 2})


@every_channel
async def test_a_frame_as_long_as_the_limit_is_not_too_long(opened: Opener) -> None:
    async with opened() as channel:
        await channel.send(encode_request(1, "big", b'{"size":%d}' % (LIMIT - 100)))
        assert len((await next_reply(channel))[1]["text"]) == LIMIT - 100


@requirement("wire.limit-size")
@pytest.mark.parametrize("size", [LIMIT + 1, 20 * LIMIT])
@pytest.mark.parametrize("opened", [*PIPES.values(), EVERY["http with JSON"]], ids=[*PIPES, "http with JSON"])
async def test_a_frame_past_the_limit_is_told_once_and_the_next_one_arrives(opened: Opener, size: int) -> None:
    async with opened() as channel:
        with pytest.raises(TooLarge):
            await ask_and_hear(channel, encode_request(1, "big", b'{"size":%d}' % size))
        await channel.send(asking(2, "after"))
        assert await next_reply(channel) == (2, {"text": "after"})


async def test_an_event_past_the_limit_fails_the_request_it_was_sent_for() -> None:
    async with EVERY["http with events"]() as channel:
        await channel.send(encode_request(1, "big", b'{"size":%d}' % (2 * LIMIT)))
        with pytest.raises(RemoteError):
            await next_reply(channel)
        await channel.send(asking(2, "after"))
        assert await next_reply(channel) == (2, {"text": "after"})


@requirement("channel.contract")
@every_stream
async def test_the_end_of_the_other_side_is_seen_after_its_last_frame(opened: Opener) -> None:
    async with opened() as channel:
        await channel.send(asking(1, "last"))
        await channel.send(encode_request(2, "leave"))
        assert await next_reply(channel) == (1, {"text": "last"})
        assert await channel.receive() is None
        assert await channel.receive() is None


@requirement("channel.send-after-close")
@every_stream
async def test_sending_to_a_peer_that_left_is_a_typed_error(opened: Opener) -> None:
    async with opened() as channel:
        await channel.send(encode_request(1, "leave"))
        assert await channel.receive() is None
        with pytest.raises(ChannelClosed):
            # The first may still find room in the pipe's buffer.
            await send_for_ever(channel, asking(2), [])


@requirement("channel.send-after-close")
@every_channel
async def test_a_closed_channel_neither_sends_nor_receives_and_closes_twice(opened: Opener) -> None:
    async with opened() as channel:
        await channel.send(asking(1))
        await next_reply(channel)
        async with asyncio.TaskGroup() as group:
            group.create_task(channel.aclose())
            group.create_task(channel.aclose())
        await channel.aclose()
        assert await channel.receive() is None
        with pytest.raises(ChannelClosed):
            await channel.send(asking(2))


@every_channel
async def test_closing_wakes_whoever_waits_for_a_frame(opened: Opener) -> None:
    async with opened() as channel, asyncio.TaskGroup() as group:
        waiting = group.create_task(channel.receive())
        await asyncio.sleep(0)
        await channel.aclose()
        assert await waiting is None


@requirement("channel.backpressure")
async def test_a_memory_peer_that_does_not_read_makes_its_sender_wait() -> None:
    ours, theirs = memory_pair(capacity=2)
    sent: list[int] = []

    async def send_all() -> None:
        for number in range(5):
            await ours.send(asking(number))
            sent.append(number)

    async with asyncio.TaskGroup() as group:
        group.create_task(send_all())
        for _ in range(10):
            await asyncio.sleep(0)
        assert sent == [0, 1]
        assert [json.loads(await theirs.receive() or b"")["id"] for _ in range(5)] == [0, 1, 2, 3, 4]


@requirement("channel.backpressure")
async def test_a_child_that_does_not_read_makes_its_sender_wait() -> None:
    sent: list[bytes] = []
    async with over_child("-c", "import time; time.sleep(60)")() as channel:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(send_for_ever(channel, b"x" * 65_536, sent), 0.5)
    # What the pipe holds, what the loop holds, and one over.
    assert sum(map(len, sent)) < 1_000_000
