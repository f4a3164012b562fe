"""Who may call an upstream now: so many at once, and those who wait take turns by caller, not by haste."""

import asyncio
from collections import deque
from collections.abc import Hashable

__all__ = ["Turns"]


class Turns:
    """Places for calls in flight. A caller with a hundred waiting calls holds up nobody else's first."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}

    @property
    def waiting(self) -> int:
        """How many wait."""
        return sum(map(len, self._waiting.values()))

    def try_enter(self) -> bool:
        """Take a place if there is one and nobody waits for it."""
        if self._free > 0 and not self._waiting:
            self._free -= 1
            return True
        return False

    async def enter(self, caller: Hashable) -> None:
        """Take a place, when it is this caller's turn."""
        if self.try_enter():
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # The place was given in the same moment in which it was no longer wanted.
                self.leave()
            raise

    def leave(self) -> None:
        """Give the place back; the next caller in turn gets it."""
        self._free += 1
        while self._waiting and self._free > 0:
            caller = next(iter(self._waiting))
            queue = self._waiting.pop(caller)
            turn = queue.popleft()
            if queue:
                # To the end of the line, behind everybody who has waited meanwhile.
                self._waiting[caller] = queue
            if not turn.done():
                self._free -= 1
                turn.set_result(None)
