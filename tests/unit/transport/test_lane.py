"""A bounded queue that keeps order however its writers wait, give up, or are turned away."""

import asyncio

import pytest

from limen.errors import ChannelClosed, TooLarge
from limen.transport.lane import Lane

pytestmark = pytest.mark.anyio


async def turn() -> None:
    """Let every waiting task take its step."""
    for _ in range(3):
        await asyncio.sleep(0)


async def test_writers_who_wait_are_let_in_in_order_and_nobody_overtakes() -> None:
    lane = Lane[bytes](1)
    async with asyncio.TaskGroup() as group:
        for number in range(5):
            group.create_task(lane.put(b"%d" % number))
        await turn()
        seen = [await lane.get()]
        group.create_task(lane.put(b"late"))
        seen += [await lane.get() for _ in range(5)]
    assert seen == [b"0", b"1", b"2", b"3", b"4", b"late"]


async def test_a_writer_who_gives_up_leaves_no_trace() -> None:
    lane = Lane[bytes](1)
    await lane.put(b"first")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(lane.put(b"never"))
        group.create_task(lane.put(b"second"))
        await turn()
        waiting.cancel()
        await turn()
        assert [await lane.get(), await lane.get()] == [b"first", b"second"]


async def test_the_end_is_seen_after_the_last_frame_and_writers_are_turned_away() -> None:
    lane = Lane[bytes](1)
    await lane.put(b"last")

    async def expect_closed() -> None:
        with pytest.raises(ChannelClosed):
            await lane.put(b"too late")

    async with asyncio.TaskGroup() as group:
        group.create_task(expect_closed())
        await turn()
        lane.end()
    await expect_closed()
    assert [await lane.get(), await lane.get()] == [b"last", None]


async def test_an_error_is_raised_in_its_place() -> None:
    lane = Lane[bytes](3)
    await lane.put(b"before")
    await lane.put(TooLarge("x", limit="y"))
    await lane.put(b"after")
    assert await lane.get() == b"before"
    with pytest.raises(TooLarge):
        await lane.get()
    assert await lane.get() == b"after"


async def test_the_end_wakes_a_reader_who_waits() -> None:
    lane = Lane[bytes](1)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(lane.get())
        await turn()
        lane.end()
    assert waiting.result() is None
