"""Where files wait that come in while others are being taken in: whatever waits is taken in together."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from limen.brain.ingest.intake import Item
from limen.brain.records import IngestReport
from limen.errors import LimenError

__all__ = ["Desk", "is_quick"]

TOGETHER: Final = 64
TOGETHER_BYTES: Final = 256 * 1024
"""A file beyond this is taken in by itself: nobody should have to wait for it."""

_SLOW: Final = (b"%PDF", b"PK\x03\x04")
"""How files begin that take a program or unpacking to read."""

TakeEach = Callable[[Sequence[tuple[Item, str]]], Awaitable[Sequence[IngestReport | LimenError]]]


def is_quick(item: Item) -> bool:
    """Whether it is taken in so soon that others can wait for it."""
    return len(item.content) <= TOGETHER_BYTES and not item.content.startswith(_SLOW)


class Desk:
    """One brain's waiting room for files. Threads of their own for each would spend their time on each other."""

    def __init__(self, take_each: TakeEach) -> None:
        self._take_each = take_each
        self._waiting: deque[tuple[Item, str, asyncio.Future[IngestReport]]] = deque()
        self._working: asyncio.Task[None] | None = None

    async def take(self, item: Item, actor: str) -> IngestReport:
        """Take in one file, with those that wait beside it.

        Raises:
            LimenError: it cannot be taken in; the others are not concerned.
        """
        loop = asyncio.get_running_loop()
        report: asyncio.Future[IngestReport] = loop.create_future()
        self._waiting.append((item, actor, report))
        if self._working is None:
            self._working = loop.create_task(self._work())
        return await report

    async def _work(self) -> None:
        try:
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(TOGETHER, len(self._waiting)))]
                await self._do([entry for entry in batch if not entry[2].cancelled()])
        finally:
            self._working = None

    async def _do(self, batch: Sequence[tuple[Item, str, "asyncio.Future[IngestReport]"]]) -> None:
        try:
            outcomes = await self._take_each([(item, actor) for item, actor, _ in batch])
        except Exception as error:  # noqa: BLE001 - a bug is told to those who wait, and must not strand the next
            for *_, report in batch:
                if not report.done():
                    report.set_exception(error)
            return
        for (*_, report), outcome in zip(batch, outcomes, strict=True):
            if report.done():
                continue
            if isinstance(outcome, LimenError):
                report.set_exception(outcome)
            else:
                report.set_result(outcome)
