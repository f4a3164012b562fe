"""One call on its way to an upstream, and all that the upstream says back at it, delivered to its own caller only."""

import asyncio
import logging
from collections import deque
from typing import Any

import msgspec

from limen.calls.call import Exchange, Question
from limen.errors import LimenError

__all__ = ["Talk"]

log = logging.getLogger(__name__)


class Talk:
    """The line between an upstream at work and the client that waits for it."""

    def __init__(self, exchange: Exchange, capability: str) -> None:
        self.exchange = exchange
        self.capability = capability
        self.has_spoken = False
        """Whether the upstream said something that did not name this call."""
        self.asked = asyncio.Event()
        """Set while questions wait for a client that must come back with the answers."""
        self._open: dict[str, tuple[Question, asyncio.Future[Any]]] = {}
        self._asked_so_far = 0
        self._outbox: deque[tuple[str, bytes]] = deque()
        self._sending: asyncio.Task[None] | None = None

    def tell(self, method: str, params: bytes) -> None:
        """Pass a message on to the caller, in order; it is on its way before the result is."""
        self._outbox.append((method, params))
        if self._sending is None:
            self._sending = asyncio.get_running_loop().create_task(self._send())

    async def _send(self) -> None:
        try:
            while self._outbox:
                await self.exchange.relay(*self._outbox.popleft())
        except (LimenError, msgspec.DecodeError) as error:
            self._outbox.clear()
            log.info("message for a caller dropped", extra={"reason": str(error)})
        finally:
            self._sending = None

    async def delivered(self) -> None:
        """Wait until what was told is on its way."""
        while self._sending is not None:
            await asyncio.wait([self._sending])

    def progress(self, params: bytes) -> None:
        """Pass on how far the upstream is."""
        self.tell("notifications/progress", params)

    async def ask(self, method: str, params: bytes) -> bytes:
        """Put an upstream's question to the caller, and wait for the answer, however it comes.

        Raises:
            MissingClientCapability: the client cannot be asked this.
        """
        await self.delivered()
        question = Question(method, msgspec.json.decode(params))
        if self.exchange.is_lasting:
            answers = await self.exchange.ask({method: question})
            return msgspec.json.encode(answers[method])
        self._asked_so_far += 1
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        key = f"{method}#{self._asked_so_far}"
        self._open[key] = question, answer
        self.asked.set()
        try:
            return msgspec.json.encode(await answer)
        finally:
            self._open.pop(key, None)
            self._look()

    def questions(self) -> dict[str, Question]:
        """What waits for the client."""
        return {key: question for key, (question, answer) in self._open.items() if not answer.done()}

    def resume(self, exchange: Exchange) -> None:
        """The client came back: what it answered goes to those who asked, and from now on it is told here."""
        self.exchange = exchange
        for key, value in exchange.answers.items():
            if key in self._open and not self._open[key][1].done():
                self._open[key][1].set_result(value)
        self._look()

    def refuse(self, error: LimenError) -> None:
        """Nobody will answer what waits."""
        for _, answer in self._open.values():
            if not answer.done():
                answer.set_exception(error)
        self._look()

    def _look(self) -> None:
        if not self.questions():
            self.asked.clear()
