"""What is done on a connection beside the calls: learning what the server offers, and hearing when that changes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec

from limen.errors import LimenError
from limen.gateway.definitions import Definitions, read_definitions
from limen.transport.client import McpClient

__all__ = ["Attendant"]

log = logging.getLogger(__name__)

DEBOUNCE_S: Final = 0.2
"""Lists that change again within this time are read once."""
LISTEN_S: Final = 86_400.0
RELISTEN_S: Final = 30.0


class Attendant:
    """Keeps what is known of one server up to date, over all its connections."""

    def __init__(self, server: str, learnt: Callable[[Definitions | None, str], None]) -> None:
        """`learnt` is told what the server offers, or why that cannot be known."""
        self._server = server
        self._learnt = learnt
        self._stale = asyncio.Event()
        self._resubscribed = asyncio.Event()
        self._subscribed: dict[str, int] = {}
        self._has_read = False

    @property
    def has_listeners(self) -> bool:
        """Whether somebody wants to hear of a resource."""
        return bool(self._subscribed)

    def list_changed(self) -> None:
        """One of the server's lists is not what it was."""
        self._stale.set()

    def subscribe(self, uri: str, *, is_wanted: bool) -> bool:
        """Count who wants to hear of a resource; True when the first one came or the last one went."""
        before = self._subscribed.get(uri, 0)
        after = max(0, before + (1 if is_wanted else -1))
        if after:
            self._subscribed[uri] = after
        else:
            self._subscribed.pop(uri, None)
        is_news = bool(before) != bool(after)
        if is_news:
            self._resubscribed.set()
        return is_news

    async def attend(self, client: McpClient, stop: asyncio.Event) -> None:
        """Do all this until the connection is to end or has ended."""
        if "logging" in _capabilities(client) and not client.agreement.is_stateless:
            # What callers do not want to hear is dropped on the way to them.
            await self._quietly(client.request("logging/setLevel", b'{"level":"debug"}'))
        self._stale.set()
        self._has_read = False
        loop = asyncio.get_running_loop()
        ends = [loop.create_task(stop.wait()), loop.create_task(client.closed())]
        beside = [loop.create_task(self._listen(client))] if client.agreement.is_stateless else []
        try:
            while not any(task.done() for task in ends):
                news = loop.create_task(self._read(client))
                try:
                    await asyncio.wait([*ends, news], return_when=asyncio.FIRST_COMPLETED)
                finally:
                    news.cancel()
        finally:
            for task in (*ends, *beside):
                task.cancel()

    async def _read(self, client: McpClient) -> None:
        await self._stale.wait()
        if self._has_read:
            await asyncio.sleep(DEBOUNCE_S)
        self._stale.clear()
        self._has_read = True
        try:
            self._learnt(await read_definitions(client), "")
        except LimenError as error:
            log.warning("definitions of an upstream not read", extra={"server": self._server, "reason": str(error)})
            self._learnt(None, f"what it offers cannot be read: {error}")

    async def _listen(self, client: McpClient) -> None:
        """Have a stateless server tell what changes, anew whenever somebody wants to hear of another resource."""
        loop = asyncio.get_running_loop()
        while True:
            self._resubscribed.clear()
            stream = loop.create_task(
                self._quietly(client.request("subscriptions/listen", self._wanted(), timeout_s=LISTEN_S))
            )
            changing = loop.create_task(self._resubscribed.wait())
            try:
                await asyncio.wait([stream, changing], return_when=asyncio.FIRST_COMPLETED)
            finally:
                stream.cancel()
                changing.cancel()
            if not self._resubscribed.is_set():
                # It has no such stream, or ended it; nothing is lost but time.
                await asyncio.sleep(RELISTEN_S)

    def _wanted(self) -> bytes:
        return msgspec.json.encode(
            {
                "notifications": {
                    "toolsListChanged": True,
                    "promptsListChanged": True,
                    "resourcesListChanged": True,
                    "resourceSubscriptions": list(self._subscribed),
                }
            }
        )

    async def _quietly(self, asking: Awaitable[bytes]) -> None:
        try:
            await asking
        except LimenError as error:
            log.info("upstream refused a setting", extra={"server": self._server, "reason": str(error)})


def _capabilities(client: McpClient) -> Mapping[str, Any]:
    try:
        return msgspec.json.decode(client.agreement.greeting, type=dict[str, Any]).get("capabilities", {})
    except msgspec.DecodeError:
        return {}
