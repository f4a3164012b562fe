"""Runs one coroutine to its end on the quickest event loop there is; a signal to stop lets it clean up first."""

import asyncio
import gc
import signal
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from typing import Any, TypeVar

__all__ = ["run_async"]

T = TypeVar("T")

TERMINATED = 128 + signal.SIGTERM

GC_THRESHOLDS = (10_000, 20, 50)
"""A hub makes many short-lived objects and few cycles, so it looks for cycles less often than the default, 700."""


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """The result of the work; when its task groups hold one failure in all, that failure.

    Raises:
        SystemExit: SIGTERM came, and the work has cleaned up.
    """
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    gc.enable()
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(_stoppable(work))
    except asyncio.CancelledError:
        raise SystemExit(TERMINATED) from None
    except ExceptionGroup as group:
        raise _only(group) from group


async def _stoppable(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.current_task()
    assert task is not None
    # Where the loop cannot listen to signals (Windows), the system's way to end a process has to do.
    with suppress(NotImplementedError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await work


def _loop_factory() -> Any:
    try:
        # There is no uvloop for Windows; the loop that comes with Python serves as well, for more CPU.
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
