"""On a connection that does not say whose question it asks, a call that may make it speak has one client alone."""

import asyncio

import pytest

from limen.gateway.floor import Floor, Seat
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


async def entered(floor: Floor, client: str, log: list[str], *, is_quiet: bool) -> None:
    await floor.enter(client, is_quiet=is_quiet)
    log.append(client)


@requirement("gateway.own-caller")
async def test_quiet_calls_of_many_clients_are_in_flight_together() -> None:
    floor = Floor({})
    assert all(floor.try_enter(client, is_quiet=True) for client in "abc")
    assert floor.clients() == ["a", "b", "c"]


@requirement("gateway.own-caller")
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


@requirement("gateway.own-caller")
async def test_the_same_client_is_never_in_its_own_way() -> None:
    floor = Floor({})
    assert floor.try_enter("a", is_quiet=False)
    assert floor.try_enter("a", is_quiet=False)
    assert floor.try_enter("a", is_quiet=True)
    assert not floor.others("a")


@requirement("gateway.own-caller")
async def test_who_gives_up_waiting_lets_the_next_one_in() -> None:
    floor, log = Floor({}), list[str]()
    await floor.enter("a", is_quiet=True)
    async with asyncio.TaskGroup() as group:
        gone = group.create_task(entered(floor, "b", log, is_quiet=False))
        group.create_task(entered(floor, "c", log, is_quiet=True))
        await asyncio.sleep(0)
        gone.cancel()
    assert log == ["c"]


@requirement("gateway.own-caller")
def test_a_capability_that_spoke_once_is_never_taken_for_quiet_again() -> None:
    floor = Floor({})
    assert floor.manner("ask") == "unknown"
    floor.note("ask", has_spoken=False)
    assert floor.manner("ask") == "quiet"
    floor.note("ask", has_spoken=True)
    floor.note("ask", has_spoken=False)
    assert floor.manner("ask") == "speaks"


@requirement("gateway.own-caller")
async def test_a_seat_that_is_lent_lets_others_in_and_is_taken_again_when_they_are_gone() -> None:
    floor = Floor({})
    seat, other = Seat(floor, "a", is_quiet=False), Seat(floor, "b", is_quiet=False)
    assert seat.try_take()
    assert not other.try_take()
    seat.lend()
    assert other.try_take()
    async with asyncio.TaskGroup() as group:
        back = group.create_task(seat.take_back(60))
        await asyncio.sleep(0)
        assert not back.done()
        other.leave()
    assert seat.is_taken
    seat.leave()
    assert floor.clients() == []


@requirement("gateway.own-caller")
async def test_a_call_that_is_over_while_its_seat_is_lent_never_takes_it_again() -> None:
    floor = Floor({})
    seat = Seat(floor, "a", is_quiet=False)
    await seat.take()
    seat.lend()
    seat.leave()
    await seat.take_back(60)
    assert floor.clients() == []


@requirement("gateway.own-caller")
async def test_a_call_that_shares_lets_in_quiet_ones_at_once_and_unknown_ones_soon() -> None:
    floor = Floor({})
    hung = Seat(floor, "a", is_quiet=False)
    await hung.take()
    hung.share()
    assert Seat(floor, "b", is_quiet=True).try_take()
    unknown = Seat(floor, "c", is_quiet=False)
    assert not unknown.try_take()
    await unknown.take_soon(0.01)
    assert floor.clients() == ["a", "b", "c"]
