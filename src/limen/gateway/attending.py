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
ACK_S: Final = 5.0
"""How long a server may take to say that it will tell what was asked for."""


class Attendant:
    """Keeps what is known of one server up to date, over all its connections."""

    def __init__(self, server: str, learnt: Callable[[Definitions | None, str], None]) -> None:
        """`learnt` is told what the server offers, or why that cannot be known."""
        self._server = server
        self._learnt = learnt
        self._stale = asyncio.Event()
        self._resubscribed = asyncio.Event()
        self._acknowledged = asyncio.Event()
        self._is_told = asyncio.Event()
        self._subscribed: dict[str, None] = {}
        self._has_read = False

    @property
    def has_listeners(self) -> bool:
        """Whether somebody wants to hear of a resource."""
        return bool(self._subscribed)

    def list_changed(self) -> None:
        """One of the server's lists is not what it was."""
        self._stale.set()

    def want(self, uri: str) -> bool:
        """Somebody wants to hear of a resource; True when that is news to the server."""
        if uri in self._subscribed:
            return False
        self._subscribed[uri] = None
        self._changed()
        return True

    def unwant(self, uri: str) -> bool:
        """Nobody wants to hear of a resource any more; True when that is news to the server."""
        if uri not in self._subscribed:
            return False
        del self._subscribed[uri]
        self._changed()
        return True

    def _changed(self) -> None:
        self._is_told.clear()
        self._resubscribed.set()

    def acknowledged(self) -> None:
        """The server tells from now on what it was last asked to tell."""
        self._acknowledged.set()

    async def told(self) -> None:
        """Wait until a stateless server knows what is wanted; not for ever, for it may have nothing to tell."""
        try:
            async with asyncio.timeout(2 * ACK_S):
                await self._is_told.wait()
        except TimeoutError:
            log.info("upstream did not acknowledge a subscription", extra={"server": self._server})

    async def settle_in(self, client: McpClient) -> None:
        """Tell a server of the session revision what it must know in each session."""
        if client.agreement.is_stateless:
            return
        if "logging" in _capabilities(client):
            # What callers do not want to hear is dropped on the way to them.
            await self._quietly(client.request("logging/setLevel", b'{"level":"debug"}'))
        for uri in list(self._subscribed):
            await self._quietly(client.request("resources/subscribe", msgspec.json.encode({"uri": uri})))

    async def attend(self, client: McpClient, stop: asyncio.Event) -> None:
        """Do all this until the connection is to end or has ended."""
        await self.settle_in(client)
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
        stream: asyncio.Task[None] | None = None
        changing: asyncio.Task[Any] | None = None
        try:
            while True:
                self._resubscribed.clear()
                before, stream = stream, loop.create_task(self._open_stream(client))
                # The old stream ends when the new one has begun, so that nothing falls in between.
                await self._until_acknowledged(stream)
                if before is not None:
                    before.cancel()
                if not self._resubscribed.is_set():
                    self._is_told.set()
                changing = loop.create_task(self._resubscribed.wait())
                await asyncio.wait([stream, changing], return_when=asyncio.FIRST_COMPLETED)
                if not self._resubscribed.is_set():
                    # It has no such stream, or ended it; nothing is lost but time.
                    await asyncio.wait([changing], timeout=RELISTEN_S)
                changing.cancel()
        finally:
            for task in (stream, changing):
                if task is not None:
                    task.cancel()

    async def _open_stream(self, client: McpClient) -> None:
        await self._quietly(client.request("subscriptions/listen", self._wanted(), timeout_s=LISTEN_S))

    async def _until_acknowledged(self, stream: "asyncio.Task[None]") -> None:
        self._acknowledged.clear()
        acknowledged = asyncio.get_running_loop().create_task(self._acknowledged.wait())
        try:
            await asyncio.wait([stream, acknowledged], timeout=ACK_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            acknowledged.cancel()

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
