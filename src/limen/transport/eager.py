"""Runs work here and now for as long as it need not wait, and so spares most of it a task and a turn of the loop."""

# The last two are asyncio's hooks for tasks other than its own, documented for that, underscore and all.
from asyncio import AbstractEventLoop, CancelledError, Future, Task, _enter_task, _leave_task
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import copy_context
from functools import partial
from typing import Any, Generic, TypeVar

__all__ = ["Understudy", "begin", "run_eagerly"]

T = TypeVar("T")


async def run_eagerly(work: Coroutine[Any, Any, T], on_wait: Callable[[], None]) -> T:
    """Await the work in the current task, and call `on_wait` once, at the moment it first has to wait."""
    try:
        awaited = work.send(None)
    except StopIteration as done:
        return done.value
    try:
        on_wait()
    except BaseException:
        work.close()
        raise
    # Not `_Rest[T](…)`: to call a subscripted class takes longer than to make what it makes.
    rest: _Rest[T] = _Rest(awaited, work.send, work.throw)
    return await rest


def begin(work: Coroutine[Any, Any, T]) -> "Awaitable[T] | None":
    """Run the first step of the work here and now; what is left of it to await, None when that was all."""
    try:
        awaited = work.send(None)
    except StopIteration:
        return None
    rest: _Rest[T] = _Rest(awaited, work.send, work.throw)
    return rest


class _Rest(Generic[T]):
    """What is left of a coroutine after its first step, as `yield from` would go on with it."""

    __slots__ = ("_awaited", "_send", "_throw")

    def __init__(self, awaited: Any, send: Callable[[Any], Any], throw: Callable[[BaseException], Any]) -> None:
        self._awaited = awaited
        self._send = send
        self._throw = throw

    def __await__(self) -> Generator[Any, Any, T]:
        awaited = self._awaited
        while True:
            try:
                try:
                    value = yield awaited
                except BaseException as error:  # noqa: BLE001 - cancellation too belongs to the coroutine
                    awaited = self._throw(error)
                else:
                    awaited = self._send(value)
            except StopIteration as done:
                return done.value


class _Standby:
    """A task that waits to take over some work."""

    __slots__ = ("gate", "is_there", "rest", "task")

    def __init__(self, loop: AbstractEventLoop) -> None:
        self.is_there = False
        self.gate: Future[None] = loop.create_future()
        self.rest: _Rest[None] | None = None
        self.task = loop.create_task(self._wait())

    async def _wait(self) -> None:
        self.is_there = True
        try:
            await self.gate
        except CancelledError:
            if self.rest is None:
                raise
            # Cancelled by its own first step, or right after it: the work hears of it where it waits.
            self.task.uncancel()
            self.task.cancel()
        if self.rest is not None:
            await self.rest


class Understudy:
    """Begins work in a callback of the loop, where no task runs, and has one at hand in case it must wait.

    The first step runs at once, in the name of the task at hand, so that deadlines and cancel scopes find the task they
    belong to. Work that ends there has cost no task; work that has to wait goes on in it, and another is made. As in a
    task of its own, what the work does to context variables stays with it.
    """

    __slots__ = ("_loop", "_standby")

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self._standby: _Standby | None = None

    def is_ready(self) -> bool:
        """Whether work can begin now; asking also sees to it that it soon can."""
        standby = self._standby
        if standby is None or standby.gate.done():
            standby = self._standby = _Standby(self._loop)
        return standby.is_there

    def begin(self, work: Coroutine[Any, Any, None]) -> "Task[None] | None":
        """Run the first step, when ready; returns the task that goes on with the work if it has to wait.

        Raises:
            Exception: whatever the first step raised.
        """
        standby = self._standby
        assert standby is not None
        context = copy_context()
        _enter_task(self._loop, standby.task)
        try:
            awaited = context.run(work.send, None)
        except StopIteration:
            return None
        finally:
            _leave_task(self._loop, standby.task)
        self._standby = None
        standby.rest = _Rest(awaited, partial(context.run, work.send), partial(context.run, work.throw))
        if not standby.gate.done():
            standby.gate.set_result(None)
        return standby.task

    def close(self) -> None:
        """Let go of the task at hand; work that goes on is not touched."""
        if self._standby is not None:
            self._standby.task.cancel()
            self._standby = None
