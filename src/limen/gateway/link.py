"""One live connection to an upstream, shared by all callers: requests out, and what comes back to whom it concerns."""

import asyncio
import logging
from typing import Any, Final, Protocol

import msgspec

from limen.errors import MissingClientCapability, RemoteError, UpstreamError
from limen.gateway.floor import Floor
from limen.gateway.talk import Talk
from limen.protocol.frames import Notification
from limen.transport.client import McpClient

__all__ = ["Link", "News"]

log = logging.getLogger(__name__)

PATIENCE_S: Final = 10.0
"""How long a question waits for it to become clear whose it is."""
COMPLETION_S: Final = 300.0
"""How long a person may take at a page that the upstream sent them to."""
URL_ELICITATION_REQUIRED: Final = -32042


class News(Protocol):
    """Hears what an upstream says to nobody in particular."""

    def list_changed(self, method: str) -> None:
        """One of its lists is not what it was."""
        ...

    def resource_updated(self, uri: str) -> None:
        """A resource of it was updated."""
        ...


class _Completed(msgspec.Struct, rename="camel"):
    elicitation_id: str


class _Updated(msgspec.Struct):
    uri: str


class _Required(msgspec.Struct):
    elicitations: list[dict[str, Any]]


class Link:
    """A conversation with one server. It is the client's host: questions and messages of the server arrive here."""

    def __init__(self, news: News, roots: bytes, floor: Floor | None) -> None:
        self._news = news
        self._roots = roots
        self._floor = floor
        """Only where the connection does not tell which call the server speaks about."""
        self._talks: dict[Talk, None] = {}
        self._pages: dict[str, asyncio.Event] = {}
        self.client: McpClient | None = None
        self.junk = 0
        """Lines that were no messages."""

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
        floor, session = self._floor, talk.exchange.session
        is_quiet = floor is None or floor.manner(talk.capability) == "quiet"
        if floor is not None and not floor.try_enter(session, is_quiet=is_quiet):
            await floor.enter(session, is_quiet=is_quiet)
        self._talks[talk] = None
        try:
            result = await self._settled(talk, method, params, timeout_s)
            if floor is not None:
                floor.note(talk.capability, has_spoken=talk.has_spoken)
        finally:
            del self._talks[talk]
            if floor is not None:
                floor.leave(session, is_quiet=is_quiet)
        await talk.delivered()
        return result

    async def _settled(self, talk: Talk, method: str, params: bytes, timeout_s: float) -> bytes:
        assert self.client is not None
        on_progress = talk.progress if talk.exchange.wants_progress else None
        try:
            return await self.client.request_once(
                method, params, timeout_s=timeout_s, on_progress=on_progress, context=talk
            )
        except RemoteError as error:
            if error.rpc_code != URL_ELICITATION_REQUIRED or not talk.exchange.supports("elicitation.url"):
                raise
            await self._visit(talk, error)
        return await self.client.request_once(
            method, params, timeout_s=timeout_s, on_progress=on_progress, context=talk
        )

    async def _visit(self, talk: Talk, error: RemoteError) -> None:
        """Send the caller to the pages the server wants visited, and wait until they were."""
        try:
            pages = msgspec.json.decode(error.data or b"{}", type=_Required).elicitations
        except msgspec.DecodeError:
            raise error from None
        for page in pages:
            done = self._pages.setdefault(str(page.get("elicitationId")), asyncio.Event())
            answer: dict[str, Any] = msgspec.json.decode(
                await talk.ask("elicitation/create", msgspec.json.encode({"mode": "url", **page}))
            )
            if answer.get("action") != "accept":
                raise error
            try:
                async with asyncio.timeout(COMPLETION_S):
                    await done.wait()
            except TimeoutError:
                raise error from None
            finally:
                self._pages.pop(str(page.get("elicitationId")), None)

    async def answer(self, method: str, params: bytes, context: object) -> bytes:
        """What the server asks, answered by the caller it concerns, or from the settings where that is enough."""
        if method == "roots/list" and not self._talks:
            return self._roots
        talk = context if isinstance(context, Talk) else await self._attribute(method)
        if not isinstance(context, Talk) or self._floor is not None:
            talk.has_spoken = True
        if method == "roots/list" and not talk.exchange.supports("roots"):
            return self._roots
        return await talk.ask(method, params)

    async def _attribute(self, method: str) -> Talk:
        """The call at which the server asks this, when all calls in flight but those of one client are done."""
        for talk in self._talks:
            talk.has_spoken = True
            if self._floor is not None:
                self._floor.note(talk.capability, has_spoken=True)
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        while self._talks:
            sessions = {id(talk.exchange.session) for talk in self._talks}
            if len(sessions) == 1:
                return next(reversed(self._talks))
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
                case "notifications/elicitation/complete":
                    self._complete(msgspec.json.decode(params, type=_Completed).elicitation_id)
                case _:
                    log.debug("notification of an upstream not used", extra={"method": method})
        except msgspec.DecodeError as error:
            log.info("notification of an upstream not understood", extra={"method": method, "reason": str(error)})

    def _log(self, params: bytes, context: object) -> None:
        if isinstance(context, Talk):
            context.has_spoken = context.has_spoken or self._floor is not None
            context.tell("notifications/message", params)
            return
        sessions = {id(talk.exchange.session): talk for talk in self._talks}
        for talk in self._talks:
            talk.has_spoken = True
        if len(sessions) == 1:
            next(iter(sessions.values())).tell("notifications/message", params)
        else:
            log.debug("log message of an upstream for nobody in particular", extra={"callers": len(sessions)})

    def _complete(self, page: str) -> None:
        self._pages.setdefault(page, asyncio.Event()).set()
