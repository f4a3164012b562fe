"""The door for clients that another Limen process of the same user brings: one set of servers for all of them."""

import logging
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from limen import __version__
from limen.calls.call import Caller, Tier
from limen.errors import LimenError
from limen.server.connection import serve_channel
from limen.server.surface import Surface
from limen.transport.channel import Channel

__all__ = ["SOCKET", "Greeting", "NearbyDoor", "Welcome"]

log = logging.getLogger(__name__)

SOCKET: Final = "hub.sock"
"""The name of the socket, in the folder for things of running processes."""
_RANK: Final[dict[Tier, int]] = {"read": 0, "write": 1, "admin": 2}


class Greeting(msgspec.Struct, frozen=True):
    """What a process says first: which hub it would be itself."""

    version: str
    tier: Tier
    toolsets: Sequence[str]
    settings: str
    """The settings file it was started with."""


class Welcome(msgspec.Struct, frozen=True):
    """Whether its client is served here, or why not."""

    is_served: bool
    reason: str = ""


class NearbyDoor(msgspec.Struct, frozen=True):
    """Serves clients of processes that would have been the same hub."""

    surface: Surface
    local: Caller
    toolsets: Sequence[str]
    settings: str

    async def serve(self, channel: Channel) -> None:
        """Greet one process, and serve its client until it leaves."""
        try:
            first = await channel.receive()
            greeting = msgspec.json.decode(first or b"{}", type=Greeting)
        except (LimenError, msgspec.DecodeError) as error:
            log.info("no greeting on the local door", extra={"reason": str(error)})
            return
        reason = self._objection(greeting)
        await channel.send(msgspec.json.encode(Welcome(not reason, reason)))
        if not reason:
            await serve_channel(self.surface, replace(self.local, tier=greeting.tier), channel)

    def _objection(self, greeting: Greeting) -> str:
        if greeting.version != __version__:
            return f"this is version {__version__}"
        if greeting.settings != self.settings:
            return f"this hub has other settings: {self.settings or 'none'}"
        if sorted(greeting.toolsets) != sorted(self.toolsets):
            return f"this hub serves other toolsets: {', '.join(self.toolsets)}"
        if _RANK[greeting.tier] > _RANK[self.local.tier]:
            return f"this hub lets callers do no more than {self.local.tier}"
        return ""
