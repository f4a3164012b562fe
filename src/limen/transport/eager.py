"""Tells whether something has to wait, without paying for a task or a turn of the loop to find out."""

from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

__all__ = ["run_eagerly"]

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
    return await _Rest(work, awaited)


class _Rest(Generic[T]):
    """What is left of a coroutine after its first step, as `yield from` would go on with it."""

    __slots__ = ("_awaited", "_work")

    def __init__(self, work: Coroutine[Any, Any, T], awaited: Any) -> None:
        self._work = work
        self._awaited = awaited

    def __await__(self) -> Generator[Any, Any, T]:
        work, awaited = self._work, self._awaited
        while True:
            try:
                try:
                    value = yield awaited
                except BaseException as error:  # noqa: BLE001 - cancellation too belongs to the coroutine
                    awaited = work.throw(error)
                else:
                    awaited = work.send(value)
            except StopIteration as done:
                return done.value
