"""Calls that wait for a client that asks anew: kept at work, for a while, until it comes back with the answers."""

import asyncio
import logging
from collections.abc import Coroutine
from secrets import token_urlsafe
from typing import Any, Final

from limen.calls.call import Exchange, InputRequired
from limen.errors import InvalidArguments, LimenError, Overloaded
from limen.gateway.talk import Talk

__all__ = ["TICKET", "Parking"]

log = logging.getLogger(__name__)

STAY_S: Final = 300.0
"""How long a call waits for its client to come back."""
PLACES: Final = 1000
TICKET: Final = "parked:"
"""What the state of such a call begins with."""


class _Parked:
    __slots__ = ("leaves", "talk", "work")

    def __init__(self, talk: Talk, work: "asyncio.Task[bytes]", leaves: asyncio.TimerHandle) -> None:
        self.talk, self.work, self.leaves = talk, work, leaves


class Parking:
    """Keeps calls in flight between two requests of a stateless client."""

    def __init__(self) -> None:
        self._parked: dict[str, _Parked] = {}
        self._working: set[asyncio.Task[bytes]] = set()

    async def begin(self, talk: Talk, work: Coroutine[Any, Any, bytes]) -> bytes:
        """Do the work until it is done, or until it needs an answer that only another request can bring.

        Raises:
            InputRequired: the client must come back, with a ticket in its state.
        """
        task = asyncio.get_running_loop().create_task(work)
        self._working.add(task)
        task.add_done_callback(self._working.discard)
        return await self._follow(talk, task)

    async def resume(self, ticket: str, exchange: Exchange) -> bytes:
        """Go on where the call with this ticket was.

        Raises:
            InvalidArguments: it has ended meanwhile.
        """
        parked = self._parked.pop(ticket, None)
        if parked is None:
            raise InvalidArguments(
                "requestState: the call it belongs to has ended; send the request anew", field="requestState"
            )
        parked.leaves.cancel()
        parked.talk.resume(exchange)
        return await self._follow(parked.talk, parked.work)

    async def _follow(self, talk: Talk, work: "asyncio.Task[bytes]") -> bytes:
        try:
            while True:
                asked = asyncio.get_running_loop().create_task(talk.asked.wait())
                try:
                    await asyncio.wait({work, asked}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    asked.cancel()
                if work.done():
                    return await work
                await self._hand_over(talk, work)
        except asyncio.CancelledError:
            work.cancel()
            raise

    async def _hand_over(self, talk: Talk, work: "asyncio.Task[bytes]") -> None:
        """Let the client go with the questions; returns only when it cannot be asked them."""
        if len(self._parked) >= PLACES:
            talk.refuse(Overloaded("too many calls wait for their clients"))
            return
        ticket = token_urlsafe(18)
        try:
            await talk.exchange.ask(talk.questions(), state=f"{TICKET}{ticket}")
        except LimenError as error:
            talk.refuse(error)
        except InputRequired:
            leaves = asyncio.get_running_loop().call_later(STAY_S, self._forget, ticket)
            self._parked[ticket] = _Parked(talk, work, leaves)
            raise

    def _forget(self, ticket: str) -> None:
        parked = self._parked.pop(ticket, None)
        if parked is not None:
            log.info("call given up, its client did not come back")
            parked.work.cancel()

    async def close(self) -> None:
        """Give up every call that waits."""
        for ticket in list(self._parked):
            self._parked[ticket].leaves.cancel()
            self._forget(ticket)
        if self._working:
            for task in self._working:
                task.cancel()
            await asyncio.wait(self._working, timeout=5.0)
