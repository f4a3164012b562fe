"""One live connection to an upstream, shared by all callers: requests out, and what comes back to whom it concerns."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final, Protocol

import msgspec

from limen.errors import LimenError, MissingClientCapability, RemoteError, RequestTimeout, UpstreamError
from limen.gateway.floor import Floor, Seat
from limen.gateway.talk import Talk
from limen.gateway.visits import URL_ELICITATION_REQUIRED, Pages, Visit
from limen.protocol.frames import Notification
from limen.transport.client import McpClient

__all__ = ["Link", "News"]

log = logging.getLogger(__name__)

PATIENCE_S: Final = 10.0
"""How long a question waits for it to become clear whose it is."""
ANSWER_S: Final = 600.0
"""How long a call may last while its client thinks about an answer; whoever asks the client ends it before."""
SILENT_S: Final = 1.0
"""A call of which nothing is known and that has asked nothing for so long no longer keeps others out."""


class News(Protocol):
    """Hears what an upstream says to nobody in particular."""

    def list_changed(self, method: str) -> None:
        """One of its lists is not what it was."""
        ...

    def resource_updated(self, uri: str) -> None:
        """A resource of it was updated."""
        ...

    def listening(self) -> None:
        """It tells from now on what it was last asked to tell."""
        ...


class _Updated(msgspec.Struct):
    uri: str


class Link:
    """A conversation with one server. It is the client's host: questions and messages of the server arrive here."""

    def __init__(self, news: News, roots: bytes, floor: Floor | None) -> None:
        self._news = news
        self._roots = roots
        self._floor = floor
        """Only where the connection does not tell which call the server speaks about."""
        self._talks: dict[Talk, Seat | None] = {}
        """Calls in flight; those on a floor have a seat there."""
        self._asking: dict[Talk, None] = {}
        """Calls that are over while a question is open that was put to their client."""
        self._pages = Pages()
        self.client: McpClient | None = None
        self.junk = 0
        """Lines that were no messages."""

    @property
    def is_over(self) -> bool:
        """Whether the server is gone; whoever keeps the connection hears of it a moment later."""
        return self.client is not None and self.client.is_over

    @property
    def in_flight(self) -> int:
        """Calls being answered."""
        return len(self._talks)

    async def request(self, talk: Talk, method: str, params: bytes, timeout_s: float) -> bytes:
        """Ask the server on behalf of a caller; its raw result, `input_required` included.

        Raises:
            RemoteError: the server answered with an error.
            RequestTimeout: it did not answer in time.
            ChannelClosed: it is gone.
        """
        assert self.client is not None
        seat = None if self._floor is None else self._seat(self._floor, talk)
        if seat is not None and not seat.is_taken:
            await self._sit_down(talk, seat, timeout_s)
        self._talks[talk] = seat
        try:
            result = await self._settled(talk, method, params, timeout_s)
            if self._floor is not None:
                self._floor.note(talk.capability, has_spoken=talk.has_spoken)
        finally:
            del self._talks[talk]
            if seat is not None:
                seat.leave()
            self._end(talk)
        await talk.delivered()
        return result

    def _end(self, talk: Talk) -> None:
        """What a server still asks at a call that is over is asked in vain, unless it may be another call's."""
        self._pages.forget(talk)
        if talk.is_asking:
            self._asking[talk] = None
        if not self._asking:
            return
        at_work = {id(other.exchange.session) for other in self._talks} if self._floor is not None else set[int]()
        for other in [other for other in self._asking if id(other.exchange.session) not in at_work]:
            del self._asking[other]
            other.end()

    def _seat(self, floor: Floor, talk: Talk) -> Seat:
        manner = floor.manner(talk.capability)
        seat = Seat(floor, talk.exchange.session, is_quiet=manner == "quiet")
        if seat.try_take() and manner == "unknown":
            asyncio.get_running_loop().call_later(SILENT_S, self._share, talk, seat)
        return seat

    async def _sit_down(self, talk: Talk, seat: Seat, timeout_s: float) -> None:
        is_unknown = self._floor is not None and self._floor.manner(talk.capability) == "unknown"
        try:
            async with asyncio.timeout(timeout_s):
                await (seat.take_soon(SILENT_S) if is_unknown else seat.take())
        except TimeoutError:
            raise RequestTimeout(f"it was busy with another client's call for {timeout_s:g} s") from None
        if is_unknown:
            asyncio.get_running_loop().call_later(SILENT_S, self._share, talk, seat)

    def _share(self, talk: Talk, seat: Seat) -> None:
        if not talk.has_spoken:
            seat.share()

    async def _settled(self, talk: Talk, method: str, params: bytes, timeout_s: float) -> bytes:
        assert self.client is not None
        on_progress = talk.progress if talk.exchange.wants_progress else None
        visit: Visit | None = None
        while True:
            try:
                return await self.client.request_once(
                    method, params, timeout_s=timeout_s, on_progress=on_progress, context=talk
                )
            except RemoteError as error:
                if error.rpc_code != URL_ELICITATION_REQUIRED:
                    raise
                visit = visit or Visit(self._pages, talk)
                async with self._aside(talk):
                    await visit.make(error)

    async def answer(self, method: str, params: bytes, context: object) -> bytes:
        """What the server asks, answered by the caller it concerns, or from the settings where that is enough."""
        if method == "roots/list" and not self._talks:
            return self._roots
        talk = context if isinstance(context, Talk) else await self._attribute(method)
        if not isinstance(context, Talk) or self._floor is not None:
            talk.has_spoken = True
        if method == "roots/list" and not talk.exchange.supports("roots"):
            return self._roots
        if method == "elicitation/create":
            self._pages.note(talk, params)
        async with self._aside(talk):
            return await talk.ask(method, params)

    @asynccontextmanager
    async def _aside(self, talk: Talk) -> AsyncGenerator[None]:
        """Let the call wait for its client, and let others be spoken to meanwhile."""
        seat = self._talks.get(talk)
        if self.client is not None:
            self.client.extend(talk, ANSWER_S)
        if seat is not None:
            seat.lend()
        try:
            yield
        except LimenError:
            # A refusal is an answer, too: the server goes on with the call.
            await self._go_on(talk, seat)
            raise
        await self._go_on(talk, seat)

    async def _go_on(self, talk: Talk, seat: Seat | None) -> None:
        if seat is not None:
            await seat.take_back(SILENT_S)
        if self.client is not None:
            self.client.extend(talk)

    def _speaking(self) -> list[Talk]:
        """The calls that the server can be speaking about; all of them when all wait for their clients."""
        return [talk for talk, seat in self._talks.items() if seat is None or seat.is_taken] or list(self._talks)

    async def _attribute(self, method: str) -> Talk:
        """The call at which the server asks this, when all calls in flight but those of one client are done."""
        for talk in self._speaking():
            talk.has_spoken = True
            if self._floor is not None:
                self._floor.note(talk.capability, has_spoken=True)
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        while talks := self._speaking():
            sessions = {id(talk.exchange.session) for talk in talks}
            if len(sessions) == 1:
                return talks[-1]
            if asyncio.get_running_loop().time() > deadline:
                raise UpstreamError(f"it cannot be told for which of several callers {method} is meant; call again")
            await asyncio.sleep(0.02)
        raise MissingClientCapability(f"nobody is calling, so nobody can answer {method}")

    def hear(self, notification: Notification, context: object) -> None:
        """Pass on what the server says: to the caller it concerns, or to whoever keeps the catalog."""
        method, params = notification.method, notification.params
        try:
            match method:
                case "notifications/message":
                    self._log(params, context)
                case (
                    "notifications/tools/list_changed"
                    | "notifications/prompts/list_changed"
                    | "notifications/resources/list_changed"
                ):
                    self._news.list_changed(method)
                case "notifications/resources/updated":
                    self._news.resource_updated(msgspec.json.decode(params, type=_Updated).uri)
                case "notifications/subscriptions/acknowledged":
                    self._news.listening()
                case "notifications/elicitation/complete":
                    self._pages.complete(params)
                case _:
                    log.debug("notification of an upstream not used", extra={"method": method})
        except msgspec.DecodeError as error:
            log.info("notification of an upstream not understood", extra={"method": method, "reason": str(error)})

    def _log(self, params: bytes, context: object) -> None:
        if isinstance(context, Talk):
            context.has_spoken = context.has_spoken or self._floor is not None
            context.tell("notifications/message", params)
            return
        talks = self._speaking()
        sessions = {id(talk.exchange.session): talk for talk in talks}
        for talk in talks:
            talk.has_spoken = True
        if len(sessions) == 1:
            next(iter(sessions.values())).tell("notifications/message", params)
        else:
            log.debug("log message of an upstream for nobody in particular", extra={"callers": len(sessions)})
