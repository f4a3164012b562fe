"""Calls in flight are bounded, and whoever waits gets their turn whatever others have queued."""

import asyncio

import pytest

from limen.gateway.turns import Turns
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


async def started(turns: Turns, caller: str, log: list[str]) -> None:
    await turns.enter(caller)
    log.append(caller)


@requirement("gateway.fair-turns")
async def test_no_more_than_the_limit_are_inside() -> None:
    turns = Turns(2)
    assert turns.try_enter()
    assert turns.try_enter()
    assert not turns.try_enter()
    turns.leave()
    assert turns.try_enter()


@requirement("gateway.fair-turns")
async def test_a_caller_with_many_calls_does_not_hold_up_another_ones_first() -> None:
    turns, log = Turns(1), list[str]()
    await turns.enter("busy")
    async with asyncio.TaskGroup() as group:
        for caller in ["busy"] * 5 + ["rare"]:
            group.create_task(started(turns, caller, log))
        await asyncio.sleep(0)
        assert turns.waiting == 6
        for _ in range(6):
            turns.leave()
            await asyncio.sleep(0)
    assert log.index("rare") == 1


@requirement("gateway.fair-turns")
async def test_who_gives_up_waiting_takes_no_place() -> None:
    turns, log = Turns(1), list[str]()
    await turns.enter("first")
    async with asyncio.TaskGroup() as group:
        gone = group.create_task(started(turns, "gone", log))
        group.create_task(started(turns, "next", log))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        turns.leave()
    assert log == ["next"]
    turns.leave()
    assert turns.try_enter()


@requirement("gateway.fair-turns")
async def test_a_place_given_to_one_who_gave_up_in_the_same_moment_is_passed_on() -> None:
    turns, log = Turns(1), list[str]()
    await turns.enter("first")
    async with asyncio.TaskGroup() as group:
        gone = group.create_task(started(turns, "gone", log))
        group.create_task(started(turns, "next", log))
        await asyncio.sleep(0)
        turns.leave()
        gone.cancel()
    assert log == ["next"]
