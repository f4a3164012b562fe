"""One call on its way to an upstream, and all that the upstream says back at it, delivered to its own caller only."""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from secrets import token_urlsafe
from typing import Any

import msgspec

from limen.calls.call import Exchange, Question
from limen.errors import LimenError, UpstreamError

__all__ = ["Talk"]

log = logging.getLogger(__name__)


class Talk:
    """The line between an upstream at work and the client that waits for it."""

    __slots__ = (
        "_asked",
        "_asked_so_far",
        "_asking",
        "_open",
        "_outbox",
        "_sending",
        "capability",
        "exchange",
        "has_spoken",
    )

    def __init__(self, exchange: Exchange, capability: str) -> None:
        self.exchange = exchange
        self.capability = capability
        self.has_spoken = False
        """Whether the upstream said something that did not name this call."""
        self._asked: asyncio.Event | None = None
        self._open: dict[str, tuple[Question, asyncio.Future[Any]]] = {}
        self._asking: set[asyncio.Task[Mapping[str, Any]]] = set()
        self._asked_so_far = 0
        self._outbox: deque[tuple[str, bytes]] = deque()
        self._sending: asyncio.Task[None] | None = None

    @property
    def asked(self) -> asyncio.Event:
        """Set while questions wait for a client that must come back with the answers."""
        if self._asked is None:
            self._asked = asyncio.Event()
        return self._asked

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
            UpstreamError: the call has ended meanwhile.
        """
        await self.delivered()
        question = self.question(method, params)
        if self.exchange.is_lasting:
            return await self._ask_at_once(method, question)
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

    def question(self, method: str, params: bytes) -> Question:
        """What an upstream asks, as the caller's revision has it: only a session names the page it sends one to."""
        asked: dict[str, Any] = msgspec.json.decode(params)
        if method == "elicitation/create" and asked.get("mode") == "url":
            if not self.exchange.is_lasting:
                asked.pop("elicitationId", None)
            elif "elicitationId" not in asked:
                asked["elicitationId"] = token_urlsafe(12)
        return Question(method, asked)

    async def _ask_at_once(self, method: str, question: Question) -> bytes:
        asking = asyncio.get_running_loop().create_task(self._put(method, question))
        self._asking.add(asking)
        try:
            return msgspec.json.encode((await asking)[method])
        except asyncio.CancelledError:
            me = asyncio.current_task()
            if not asking.cancelled() or (me is not None and me.cancelling()):
                asking.cancel()
                raise
            raise _over() from None
        finally:
            self._asking.discard(asking)

    async def _put(self, method: str, question: Question) -> Mapping[str, Any]:
        return await self.exchange.ask({method: question})

    @property
    def is_asking(self) -> bool:
        """Whether a question to the caller is open."""
        return bool(self._asking or self._open)

    def end(self) -> None:
        """The upstream has answered, or nobody waits for it any more: what it still asks is asked in vain."""
        for asking in self._asking:
            asking.cancel()
        if self._open:
            self.refuse(_over())

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


def _over() -> UpstreamError:
    return UpstreamError("the call at which this was asked has ended")
