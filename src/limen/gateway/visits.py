"""Pages that a server sends a person to: who was sent there, and when a call may be tried again that waits for one."""

import asyncio
import logging
from typing import Any, Final

import msgspec

from limen.errors import LimenError, MissingClientCapability, RemoteError, UpstreamError
from limen.gateway.talk import Talk

__all__ = ["URL_ELICITATION_REQUIRED", "Pages", "Visit"]

log = logging.getLogger(__name__)

URL_ELICITATION_REQUIRED: Final = -32042
COMPLETION_S: Final = 300.0
"""How long a person may take at the pages of one call."""
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 30.0
MOST_PAGES: Final = 8
"""To more pages than these nobody is sent for one call."""


class _Required(msgspec.Struct):
    elicitations: list[dict[str, Any]]


class _Sent(msgspec.Struct, rename="camel"):
    mode: str = "form"
    elicitation_id: str = ""


class _Completed(msgspec.Struct, rename="camel"):
    elicitation_id: str


class Pages:
    """The pages of one server that somebody is at now."""

    def __init__(self) -> None:
        self._left: dict[str, asyncio.Event] = {}
        self._visitors: dict[str, Talk] = {}

    def note(self, talk: Talk, params: bytes) -> None:
        """A question goes to a caller; when it names a page, the caller is told when that is done."""
        try:
            sent = msgspec.json.decode(params, type=_Sent)
        except msgspec.DecodeError:
            return
        if sent.mode == "url" and sent.elicitation_id:
            self._visitors[sent.elicitation_id] = talk

    def forget(self, talk: Talk) -> None:
        """The call is over."""
        if self._visitors:
            self._visitors = {page: visitor for page, visitor in self._visitors.items() if visitor is not talk}

    def complete(self, params: bytes) -> None:
        """The server says that a page was dealt with; raises `msgspec.DecodeError`."""
        page = msgspec.json.decode(params, type=_Completed).elicitation_id
        if page in self._left:
            self._left[page].set()
        visitor = self._visitors.pop(page, None)
        if visitor is not None:
            visitor.tell("notifications/elicitation/complete", params)

    def expect(self, page: str) -> asyncio.Event:
        """Set when the server says that this page was dealt with."""
        return self._left.setdefault(page, asyncio.Event())

    def no_longer(self, page: str) -> None:
        """Nobody waits for it any more."""
        self._left.pop(page, None)


class Visit:
    """One call that its server refuses (-32042) until somebody was at certain pages.

    The call was refused unread, so it may be tried again: at once when the server says that the page was dealt with,
    and now and then by itself, because a server need not say so.
    """

    def __init__(self, pages: Pages, talk: Talk) -> None:
        self._pages = pages
        self._talk = talk
        self._sent_to: set[str] = set()
        self._pause_s = FIRST_PAUSE_S
        self._ends = asyncio.get_running_loop().time() + COMPLETION_S

    async def make(self, error: RemoteError) -> None:
        """Send the caller to the pages named in the refusal; returns when the call is worth another try.

        Raises:
            RemoteError: the refusal itself, when the person said no or was not there in time.
            MissingClientCapability: the client cannot show pages, and its revision has no such refusal.
            UpstreamError: instead of the refusal, for clients of that revision.
        """
        if not self._talk.exchange.supports("elicitation.url"):
            raise self._refusal(error, is_able=False) from error
        try:
            pages = msgspec.json.decode(error.data or b"{}", type=_Required).elicitations
        except msgspec.DecodeError:
            raise self._refusal(error) from None
        expected = {str(page.get("elicitationId", "")): page for page in pages}
        waits = [self._pages.expect(identity) for identity in expected]
        try:
            for page in expected.values():
                await self._send_to(page, error)
            await self._wait(waits, error)
        finally:
            for identity in expected:
                self._pages.no_longer(identity)

    async def _send_to(self, page: dict[str, Any], error: RemoteError) -> None:
        url = str(page.get("url", ""))
        if url in self._sent_to:
            return
        if len(self._sent_to) >= MOST_PAGES:
            raise self._refusal(error)
        self._sent_to.add(url)
        asked = msgspec.json.encode({"mode": "url", **page})
        answer: dict[str, Any] = msgspec.json.decode(await self._talk.ask("elicitation/create", asked))
        if answer.get("action") != "accept":
            raise self._refusal(error)

    def _refusal(self, error: RemoteError, *, is_able: bool = True) -> LimenError:
        """What the caller is told; the stateless revision must not hear of the code that sessions have for this."""
        if self._talk.exchange.is_lasting:
            return error
        if is_able:
            return UpstreamError(f"the server wants a page visited first: {error}")
        return MissingClientCapability(
            "this needs a client that supports elicitation.url", requiredCapabilities={"elicitation": {"url": {}}}
        )

    async def _wait(self, waits: list[asyncio.Event], error: RemoteError) -> None:
        if asyncio.get_running_loop().time() > self._ends:
            raise self._refusal(error)
        try:
            async with asyncio.timeout(self._pause_s):
                for left in waits:
                    await left.wait()
        except TimeoutError:
            self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
