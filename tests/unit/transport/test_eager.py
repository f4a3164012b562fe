"""Running a coroutine here and now, and learning whether it had to wait."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import anyio
import pytest

from limen.transport.eager import Understudy, run_eagerly

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


@asynccontextmanager
async def an_understudy() -> AsyncGenerator[Understudy]:
    """One for as long as the test needs it."""
    understudy = Understudy(asyncio.get_running_loop())
    try:
        yield understudy
    finally:
        understudy.close()


async def make_ready(understudy: Understudy) -> None:
    while not understudy.is_ready():  # noqa: ASYNC110 - it is in a turn or two, and tells nobody
        await asyncio.sleep(0)


async def in_a_callback(understudy: Understudy, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None] | None":
    """Begin the work where it is meant to begin: outside of any task."""
    await make_ready(understudy)
    loop = asyncio.get_running_loop()
    begun: asyncio.Future[asyncio.Task[None] | None] = loop.create_future()

    def begin() -> None:
        try:
            begun.set_result(understudy.begin(work))
        except BaseException as error:  # noqa: BLE001 - handed to the test
            begun.set_exception(error)

    loop.call_soon(begin)
    return await begun


async def test_work_that_need_not_wait_is_done_at_once_and_in_the_name_of_one_task() -> None:
    tasks: list[object] = []

    async def work() -> None:
        tasks.append(asyncio.current_task())

    async with an_understudy() as understudy:
        assert await in_a_callback(understudy, work()) is None
        assert await in_a_callback(understudy, work()) is None
        assert understudy.is_ready()
    assert tasks[0] is tasks[1]
    assert isinstance(tasks[0], asyncio.Task)


async def test_work_that_waits_goes_on_in_its_task_and_does_not_hold_up_other_work() -> None:
    gates = [asyncio.Event(), asyncio.Event()]
    tasks: list[list[object]] = [[], []]

    async def work(number: int) -> None:
        tasks[number].append(asyncio.current_task())
        await gates[number].wait()
        async with asyncio.timeout(5):
            await asyncio.sleep(0.001)
        tasks[number].append(asyncio.current_task())

    async with an_understudy() as understudy:
        first = await in_a_callback(understudy, work(0))
        second = await in_a_callback(understudy, work(1))
        assert first is not None
        assert second is not None
        gates[1].set()
        await second
        gates[0].set()
        await first
    assert tasks == [[first, first], [second, second]]
    assert first is not second


async def test_work_that_only_gives_way_goes_on() -> None:
    async def work() -> None:
        for _ in range(3):
            await asyncio.sleep(0)

    async with an_understudy() as understudy:
        task = await in_a_callback(understudy, work())
        assert task is not None
        await task


async def test_a_failure_of_the_first_step_is_raised_and_harms_nobody_else() -> None:
    async def fail() -> None:
        raise LookupError("gone")

    async def work() -> None:
        return

    async with an_understudy() as understudy:
        with pytest.raises(LookupError):
            await in_a_callback(understudy, fail())
        assert understudy.is_ready()
        assert await in_a_callback(understudy, work()) is None


async def test_a_later_failure_is_the_failure_of_the_task() -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise LookupError("gone")

    async with an_understudy() as understudy:
        task = await in_a_callback(understudy, fail())
        assert task is not None
        with pytest.raises(LookupError):
            await task


@pytest.mark.parametrize("turns", [0, 1, 2])
async def test_a_cancel_reaches_work_that_waits_however_soon_it_comes(turns: int) -> None:
    seen: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async with an_understudy() as understudy:
        await make_ready(understudy)
        loop = asyncio.get_running_loop()
        tasks: list[asyncio.Task[None] | None] = []

        def begin() -> None:
            tasks.append(understudy.begin(work()))
            if turns == 0 and tasks[0] is not None:
                tasks[0].cancel()

        loop.call_soon(begin)
        for _ in range(turns + 1):
            await asyncio.sleep(0)
        (task,) = tasks
        assert task is not None
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert seen == ["cancelled"]


async def test_a_cancel_that_was_taken_back_is_over() -> None:
    """As the dispatcher does it for a request that its sender withdrew."""

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            task = asyncio.current_task()
            assert task is not None
            assert task.uncancel() == 0
        await asyncio.sleep(0)

    async with an_understudy() as understudy:
        task = await in_a_callback(understudy, work())
        assert task is not None
        task.cancel()
        await task


@pytest.mark.parametrize("waits", [False, True])
async def test_work_that_cancels_itself_in_its_first_step_spoils_nothing(waits: bool) -> None:
    seen: list[str] = []

    async def work() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        if waits:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise

    async def other() -> None:
        seen.append("other")

    async with an_understudy() as understudy:
        task = await in_a_callback(understudy, work())
        assert (task is not None) is waits
        if task is not None:
            with pytest.raises(asyncio.CancelledError):
                await task
        assert await in_a_callback(understudy, other()) is None
    assert seen == (["cancelled", "other"] if waits else ["other"])


async def test_deadlines_and_cancel_scopes_begun_in_the_first_step_hold() -> None:
    seen: list[str] = []

    async def work() -> None:
        with anyio.move_on_after(0.01) as scope:
            await anyio.sleep_forever()
        seen.append(f"scope {scope.cancelled_caught}")
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            seen.append("deadline")
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep, 0)
        seen.append("group")

    async with an_understudy() as understudy:
        task = await in_a_callback(understudy, work())
        assert task is not None
        await task
    assert seen == ["scope True", "deadline", "group"]


async def test_what_work_puts_into_its_context_stays_with_it() -> None:
    name = ContextVar("name", default="nobody")
    seen: list[str] = []

    async def work(own: str, *, waits: bool) -> None:
        seen.append(name.get())
        name.set(own)
        if waits:
            await asyncio.sleep(0)
            seen.append(name.get())

    async with an_understudy() as understudy:
        assert await in_a_callback(understudy, work("a", waits=False)) is None
        task = await in_a_callback(understudy, work("b", waits=True))
        assert task is not None
        await task
        assert await in_a_callback(understudy, work("c", waits=False)) is None
    assert seen == ["nobody", "nobody", "b", "nobody"]


async def test_closing_lets_go_of_the_task_at_hand_and_of_no_other() -> None:
    gate = asyncio.Event()

    async def work() -> None:
        await gate.wait()

    async with an_understudy() as understudy:
        task = await in_a_callback(understudy, work())
        assert task is not None
        understudy.close()
        gate.set()
        await task
