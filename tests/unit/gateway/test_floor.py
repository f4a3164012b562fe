"""On a connection that does not say whose question it asks, a call that may make it speak has one client alone."""

import asyncio

import pytest

from limen.gateway.floor import Floor

pytestmark = pytest.mark.anyio


async def entered(floor: Floor, client: str, log: list[str], *, is_quiet: bool) -> None:
    await floor.enter(client, is_quiet=is_quiet)
    log.append(client)


async def test_quiet_calls_of_many_clients_are_in_flight_together() -> None:
    floor = Floor({})
    assert all(floor.try_enter(client, is_quiet=True) for client in "abc")
    assert floor.clients() == ["a", "b", "c"]


async def test_a_call_that_may_speak_waits_until_others_are_gone_and_then_keeps_them_out() -> None:
    floor, log = Floor({}), list[str]()
    await floor.enter("a", is_quiet=True)
    async with asyncio.TaskGroup() as group:
        group.create_task(entered(floor, "b", log, is_quiet=False))
        group.create_task(entered(floor, "c", log, is_quiet=True))
        await asyncio.sleep(0)
        assert log == []
        floor.leave("a", is_quiet=True)
        await asyncio.sleep(0)
        assert log == ["b"]
        floor.leave("b", is_quiet=False)
    assert log == ["b", "c"]


async def test_the_same_client_is_never_in_its_own_way() -> None:
    floor = Floor({})
    assert floor.try_enter("a", is_quiet=False)
    assert floor.try_enter("a", is_quiet=False)
    assert floor.try_enter("a", is_quiet=True)
    assert not floor.others("a")


async def test_who_gives_up_waiting_lets_the_next_one_in() -> None:
    floor, log = Floor({}), list[str]()
    await floor.enter("a", is_quiet=True)
    async with asyncio.TaskGroup() as group:
        gone = group.create_task(entered(floor, "b", log, is_quiet=False))
        group.create_task(entered(floor, "c", log, is_quiet=True))
        await asyncio.sleep(0)
        gone.cancel()
    assert log == ["c"]


def test_a_capability_that_spoke_once_is_never_taken_for_quiet_again() -> None:
    floor = Floor({})
    assert floor.manner("ask") == "unknown"
    floor.note("ask", has_spoken=False)
    assert floor.manner("ask") == "quiet"
    floor.note("ask", has_spoken=True)
    floor.note("ask", has_spoken=False)
    assert floor.manner("ask") == "speaks"
