"""Tells listeners when a brain has changed, whichever process changed it; asks the store once for all of them.

It looks instead of waiting inside the store: a listener may stay for days, and would hold a worker thread all the time.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from limen.clock import monotonic

__all__ = ["HeadWatch"]

LOOK_S: Final = 0.1


class HeadWatch:
    """The newest commit of one brain, as far as anyone here has looked."""

    def __init__(self, look: Callable[[], Awaitable[int]], *, every_s: float = LOOK_S) -> None:
        self._look = look
        self._every_s = every_s
        self._head = -1
        self._looked_at = float("-inf")

    async def wait(self, after: int, timeout_s: float) -> int:
        """Wait until there is a commit above this one, or the time is over; the number of the newest."""
        ends = monotonic() + timeout_s
        while await self._newest(after) <= after and (left := ends - monotonic()) > 0:  # noqa: ASYNC110 - another process may move it
            await asyncio.sleep(min(left, self._every_s))
        return self._head

    async def _newest(self, after: int) -> int:
        if self._head <= after and monotonic() - self._looked_at >= self._every_s:
            # Noted before the look, so that listeners who come meanwhile do not look as well.
            self._looked_at = monotonic()
            self._head = await self._look()
        return self._head
