"""Runs one coroutine to its end on the quickest event loop there is."""

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

__all__ = ["run_async"]

T = TypeVar("T")


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """The result of the work; a failure of a task group with one failure in it is that failure."""
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(work)
    except ExceptionGroup as group:
        raise _only(group) from group


def _loop_factory() -> Any:
    try:
        # There is no uvloop for Windows; the loop that comes with Python serves as well, at twice the CPU.
        from uvloop import new_event_loop
    except ImportError:
        return None
    return new_event_loop


def _only(group: ExceptionGroup[Exception]) -> Exception:
    flat = list(_flat(group))
    return flat[0] if len(flat) == 1 else group


def _flat(group: ExceptionGroup[Exception]) -> Iterator[Exception]:
    for error in group.exceptions:
        if isinstance(error, ExceptionGroup):
            # isinstance cannot tell what a group holds, and every group holds exceptions.
            yield from _flat(error)  # pyright: ignore[reportUnknownArgumentType]
        else:
            yield error
