"""Lines from bytes however they are cut, bounded on both sides, written in as few pieces as they may."""

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.errors import ChannelClosed, TooLarge
from limen.transport.lines import HIGH_WATER_BYTES, LineChannel
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

LIMIT = 20


class Source:
    """A read transport that only remembers whether it was asked to pause."""

    def __init__(self) -> None:
        self.is_paused = False

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def close(self) -> None:
        self.is_paused = True


class Sink:
    """A write transport that keeps what was written, piece by piece."""

    def __init__(self, channel: LineChannel) -> None:
        self.channel = channel
        self.written: list[bytes] = []

    def write(self, data: bytes, /) -> None:
        self.written.append(data)

    def close(self) -> None:
        self.channel.sink_lost()

    def abort(self) -> None:
        self.channel.sink_lost()


async def everything(channel: LineChannel) -> list[bytes | str]:
    found: list[bytes | str] = []
    while True:
        try:
            line = await channel.receive()
        except TooLarge:
            found.append("too large")
            continue
        if line is None:
            return found
        found.append(line)


async def split(pieces: list[bytes]) -> list[bytes | str]:
    channel = LineChannel(LIMIT)
    for piece in pieces:
        channel.data_received(piece)
    channel.finish()
    return await everything(channel)


@given(
    lines=st.lists(
        st.sampled_from([b"", b" ", b"\r", b"a", b"bc\r", b"x" * 20, b"x" * 20 + b"\r", b"y" * 21, b"z" * 90])
    ),
    last=st.sampled_from([b"", b"tail", b"w" * 30]),
    cuts=st.lists(st.integers(0, 500), max_size=20),
)
def test_cutting_the_bytes_anywhere_gives_the_same_lines(lines: list[bytes], last: bytes, cuts: list[int]) -> None:
    data = b"".join(line + b"\n" for line in lines) + last
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[start:end] for start, end in pairwise(places)]
    expected = [
        "too large" if len(line) > LIMIT else line
        for line in (whole.removesuffix(b"\r") for whole in [*lines, last])
        if line.strip()
    ]
    assert asyncio.run(split(pieces)) == expected


async def test_a_line_without_end_is_told_at_once_and_takes_no_memory() -> None:
    channel = LineChannel(LIMIT)
    for _ in range(1000):
        channel.data_received(b"x" * 1000)
    with pytest.raises(TooLarge):
        await channel.receive()
    channel.data_received(b"x\nnext\n")
    assert await channel.receive() == b"next"


@requirement("channel.backpressure")
async def test_reading_pauses_while_lines_wait_and_goes_on_when_they_are_taken() -> None:
    channel, source = LineChannel(LIMIT), Source()
    channel.connection_made(source)
    lines = HIGH_WATER_BYTES // 10 + 1
    channel.data_received(b"123456789\n" * lines)
    assert source.is_paused
    for _ in range(lines):
        assert await channel.receive() == b"123456789"
    assert source.is_paused
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(channel.receive())
        await asyncio.sleep(0)
        assert not source.is_paused
        channel.data_received(b"more\n")
        assert await waiting == b"more"


async def test_a_long_line_arriving_in_pieces_never_pauses_reading_for_good() -> None:
    channel, source = LineChannel(10 * HIGH_WATER_BYTES), Source()
    channel.connection_made(source)
    for _ in range(20):
        channel.data_received(b"x" * (HIGH_WATER_BYTES // 4))
        assert not source.is_paused
    channel.data_received(b"\n")
    assert len(await channel.receive() or b"") == 5 * HIGH_WATER_BYTES


async def test_a_lone_answer_is_written_at_once() -> None:
    channel = LineChannel(LIMIT)
    sink = Sink(channel)
    channel.attach(sink)
    channel.data_received(b"one\n")
    await channel.send(b"answer")
    assert sink.written == [b"answer\n"]


async def test_answers_to_lines_that_came_together_leave_together_in_order() -> None:
    channel = LineChannel(LIMIT)
    sink = Sink(channel)
    channel.attach(sink)
    channel.data_received(b"one\ntwo\nthree\n")
    for number in range(3):
        await channel.send(b"%d" % number)
    assert sink.written == []
    await asyncio.sleep(0)
    assert sink.written == [b"0\n1\n2\n"]


async def test_collected_answers_do_not_wait_past_a_bound() -> None:
    channel = LineChannel(LIMIT)
    sink = Sink(channel)
    channel.attach(sink)
    channel.data_received(b"one\ntwo\n")
    for _ in range(100):
        await channel.send(b"x" * 10_000)
    assert sum(map(len, sink.written)) > 900_000


@requirement("channel.backpressure")
async def test_senders_wait_while_the_other_side_does_not_read() -> None:
    channel = LineChannel(LIMIT)
    channel.attach(Sink(channel))
    channel.pause_writing()
    async with asyncio.TaskGroup() as group:
        sending = [group.create_task(channel.send(b"x")) for _ in range(3)]
        await asyncio.sleep(0)
        sending[0].cancel()
        await asyncio.sleep(0)
        assert not sending[1].done()
        channel.resume_writing()
        await sending[1]
        await sending[2]


async def test_senders_who_wait_are_told_when_the_other_side_goes() -> None:
    channel = LineChannel(LIMIT)
    channel.attach(Sink(channel))
    channel.pause_writing()

    async def expect_closed() -> None:
        with pytest.raises(ChannelClosed):
            await channel.send(b"x")

    async with asyncio.TaskGroup() as group:
        group.create_task(expect_closed())
        await asyncio.sleep(0)
        channel.sink_lost()


async def test_closing_writes_what_was_taken() -> None:
    channel = LineChannel(LIMIT)
    sink = Sink(channel)
    channel.attach(sink)
    channel.data_received(b"one\ntwo\n")
    await channel.send(b"answer")
    await channel.aclose()
    assert sink.written == [b"answer\n"]
