"""Whose question is it? On a connection that many share and that does not say, only one client may be spoken to.

A server on stdio asks and logs without naming the call it is at work on. As long as the calls in flight are all of
one client that is no matter. So a call that is known to make the server speak, or of which nothing is known yet, has
the floor for its client alone; calls that were seen to be quiet share it with anybody. What still cannot be told is
given to nobody.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Hashable
from typing import Literal

__all__ = ["Floor"]

Manner = Literal["unknown", "quiet", "speaks"]


class Floor:
    """The clients whose calls are in flight on one connection."""

    def __init__(self, manners: dict[str, Manner]) -> None:
        self._manners = manners
        """What is known of each capability, over all connections of a server."""
        self._inside: Counter[Hashable] = Counter()
        self._alone: Counter[Hashable] = Counter()
        self._line: deque[tuple[Hashable, bool, asyncio.Future[None]]] = deque()

    def manner(self, capability: str) -> Manner:
        """What is known of a capability."""
        return self._manners.get(capability, "unknown")

    def note(self, capability: str, *, has_spoken: bool) -> None:
        """Remember how a call went; one that spoke once is never taken for quiet again."""
        if has_spoken:
            self._manners[capability] = "speaks"
        else:
            self._manners.setdefault(capability, "quiet")

    def others(self, client: Hashable) -> bool:
        """Whether calls of somebody else are in flight, too."""
        return len(self._inside) > (client in self._inside)

    def clients(self) -> list[Hashable]:
        """Those whose calls are in flight."""
        return list(self._inside)

    def try_enter(self, client: Hashable, *, is_quiet: bool) -> bool:
        """Go in if that is possible at once."""
        if (self._line and not self._inside.get(client)) or not self._fits(client, is_quiet=is_quiet):
            return False
        self._admit(client, is_quiet=is_quiet)
        return True

    async def enter(self, client: Hashable, *, is_quiet: bool) -> None:
        """Go in: with others when this call and theirs are quiet, otherwise when they are gone."""
        if self.try_enter(client, is_quiet=is_quiet):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place = (client, is_quiet, turn)
        self._line.append(place)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave(client, is_quiet=is_quiet)
            else:
                self._line.remove(place)
                self._advance()
            raise

    def leave(self, client: Hashable, *, is_quiet: bool) -> None:
        """Go out; whoever fits now goes in."""
        for counter in (self._inside,) if is_quiet else (self._inside, self._alone):
            counter[client] -= 1
            if not counter[client]:
                del counter[client]
        self._advance()

    def _fits(self, client: Hashable, *, is_quiet: bool) -> bool:
        if any(holder != client for holder in self._alone):
            return False
        return is_quiet or not self.others(client)

    def _admit(self, client: Hashable, *, is_quiet: bool) -> None:
        self._inside[client] += 1
        if not is_quiet:
            self._alone[client] += 1

    def _advance(self) -> None:
        while self._line:
            client, is_quiet, turn = self._line[0]
            if not turn.done() and not self._fits(client, is_quiet=is_quiet):
                return
            self._line.popleft()
            if not turn.done():
                self._admit(client, is_quiet=is_quiet)
                turn.set_result(None)
