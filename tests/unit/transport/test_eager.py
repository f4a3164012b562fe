"""Running a coroutine here and now, and learning whether it had to wait."""

import asyncio

import pytest

from limen.transport.eager import run_eagerly

pytestmark = pytest.mark.anyio


class Waits:
    """Counts how often it was told of a wait."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


async def test_work_that_never_waits_is_done_without_a_word() -> None:
    waits = Waits()

    async def work() -> int:
        return 7

    assert await run_eagerly(work(), waits) == 7
    assert waits.count == 0


async def test_work_that_waits_says_so_once_and_goes_on_in_the_same_task() -> None:
    waits = Waits()

    async def work() -> list[object]:
        tasks: list[object] = [asyncio.current_task()]
        for _ in range(3):
            await asyncio.sleep(0)
            tasks.append(asyncio.current_task())
        async with asyncio.timeout(5):
            await asyncio.sleep(0.001)
        return tasks

    tasks = await run_eagerly(work(), waits)
    assert set(tasks) == {asyncio.current_task()}
    assert waits.count == 1


async def test_it_waits_before_it_says_so_and_not_after() -> None:
    order: list[str] = []
    gate = asyncio.Event()

    async def work() -> None:
        order.append("begun")
        await gate.wait()
        order.append("done")

    def wait() -> None:
        order.append("waits")
        gate.set()

    await run_eagerly(work(), wait)
    assert order == ["begun", "waits", "done"]


@pytest.mark.parametrize("pauses", [0, 1, 2])
async def test_a_failure_is_passed_on(pauses: int) -> None:
    async def work() -> None:
        for _ in range(pauses):
            await asyncio.sleep(0)
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await run_eagerly(work(), Waits())


async def test_a_cancel_reaches_the_work_which_may_clean_up_or_carry_on() -> None:
    gate = asyncio.Event()
    seen: list[str] = []

    async def work() -> str:
        try:
            await gate.wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            await asyncio.sleep(0)
            seen.append("cleaned up")
            raise
        return "never"

    async with asyncio.TaskGroup() as group:
        task = group.create_task(run_eagerly(work(), Waits()))
        await asyncio.sleep(0)
        task.cancel()
    assert task.cancelled()
    assert seen == ["cancelled", "cleaned up"]


async def test_a_deadline_inside_the_work_is_its_own() -> None:
    async def work() -> str:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            return "too late"
        return "never"

    assert await run_eagerly(work(), Waits()) == "too late"


async def test_when_nobody_can_be_told_of_the_wait_the_work_is_closed() -> None:
    closed: list[bool] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            closed.append(True)

    def refuse() -> None:
        raise LookupError("nobody there")

    with pytest.raises(LookupError):
        await run_eagerly(work(), refuse)
    assert closed == [True]
