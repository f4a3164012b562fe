"""Whose question is it? On a connection that many share and that does not say, only one client may be spoken to.

A server on stdio asks and logs without naming the call it is at work on. As long as the calls in flight are all of
one client that is no matter. So a call that is known to make the server speak, or of which nothing is known yet, has
the floor for its client alone; calls that were seen to be quiet share it with anybody. A call at which the server
waits for an answer gives its seat back for that time: until the answer has come, it is others who speak. What still
cannot be told is given to nobody.
"""

import asyncio
from collections import deque
from collections.abc import Hashable
from contextlib import suppress
from typing import Literal

__all__ = ["Floor", "Seat"]

Manner = Literal["unknown", "quiet", "speaks"]


class Floor:
    """The clients whose calls are in flight on one connection."""

    def __init__(self, manners: dict[str, Manner]) -> None:
        self._manners = manners
        """What is known of each capability, over all connections of a server."""
        # Plain ones: to count up what is missing, a Counter takes longer than all else here.
        self._inside: dict[Hashable, int] = {}
        self._alone: dict[Hashable, int] = {}
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

    async def enter(self, client: Hashable, *, is_quiet: bool, is_back: bool = False) -> None:
        """Go in: with others when this call and theirs are quiet, otherwise when they are gone.

        Whoever is back, having been in before, is let in next.
        """
        if self.try_enter(client, is_quiet=is_quiet):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place = (client, is_quiet, turn)
        if is_back:
            self._line.appendleft(place)
        else:
            self._line.append(place)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave(client, is_quiet=is_quiet)
            else:
                # Somebody who left in the same moment may have passed over it, and so taken it out.
                with suppress(ValueError):
                    self._line.remove(place)
                self._advance()
            raise

    def leave(self, client: Hashable, *, is_quiet: bool) -> None:
        """Go out; whoever fits now goes in."""
        _count_down(self._inside, client)
        if not is_quiet:
            _count_down(self._alone, client)
        if self._line:
            self._advance()

    def relent(self, client: Hashable) -> None:
        """One call of this client no longer keeps others out."""
        _count_down(self._alone, client)
        self._advance()

    def _fits(self, client: Hashable, *, is_quiet: bool) -> bool:
        if self._alone and any(holder != client for holder in self._alone):
            return False
        return is_quiet or not self.others(client)

    def _admit(self, client: Hashable, *, is_quiet: bool) -> None:
        self._inside[client] = self._inside.get(client, 0) + 1
        if not is_quiet:
            self._alone[client] = self._alone.get(client, 0) + 1

    def _advance(self) -> None:
        while self._line:
            client, is_quiet, turn = self._line[0]
            if not turn.done() and not self._fits(client, is_quiet=is_quiet):
                return
            self._line.popleft()
            if not turn.done():
                self._admit(client, is_quiet=is_quiet)
                turn.set_result(None)


def _count_down(counts: dict[Hashable, int], client: Hashable) -> None:
    left = counts[client] - 1
    if left:
        counts[client] = left
    else:
        del counts[client]


class Seat:
    """One call's place on the floor, for as long as the call lasts."""

    __slots__ = ("_client", "_floor", "_is_coming", "_is_over", "_is_quiet", "is_taken")

    def __init__(self, floor: Floor, client: Hashable, *, is_quiet: bool) -> None:
        self._floor = floor
        self._client = client
        self._is_quiet = is_quiet
        self._is_over = False
        self._is_coming = False
        self.is_taken = False
        """Whether the server may speak about this call now."""

    def try_take(self) -> bool:
        """Go in if there is room now."""
        self.is_taken = self._floor.try_enter(self._client, is_quiet=self._is_quiet)
        return self.is_taken

    async def take(self) -> None:
        """Go in, when there is room."""
        await self._floor.enter(self._client, is_quiet=self._is_quiet)
        self.is_taken = True

    async def take_soon(self, patience_s: float, *, is_back: bool = False) -> None:
        """Go in alone, or else, after a while, with those who let others in; one of them may never end."""
        self._is_quiet = False
        try:
            async with asyncio.timeout(patience_s):
                await self._floor.enter(self._client, is_quiet=False, is_back=is_back)
        except TimeoutError:
            self._is_quiet = True
            await self._floor.enter(self._client, is_quiet=True, is_back=is_back)
        self.is_taken = True

    def share(self) -> None:
        """Let quiet calls of others in, too."""
        if self.is_taken and not self._is_quiet:
            self._is_quiet = True
            self._floor.relent(self._client)

    def lend(self) -> None:
        """Go out until the client has answered; a call that asks is no quiet one."""
        self._give_back()
        self._is_quiet = False

    async def take_back(self, patience_s: float) -> None:
        """Go in again, before the server hears the answer."""
        if self.is_taken or self._is_over or self._is_coming:
            return
        self._is_coming = True
        try:
            await self.take_soon(patience_s, is_back=True)
        finally:
            self._is_coming = False
        if self._is_over:
            self._give_back()

    def leave(self) -> None:
        """The call is over."""
        self._is_over = True
        self._give_back()

    def _give_back(self) -> None:
        if self.is_taken:
            self.is_taken = False
            self._floor.leave(self._client, is_quiet=self._is_quiet)
