"""Two channels joined in memory, for peers in one process. Frames are handed over as they are."""

from dataclasses import dataclass
from typing import Final

from limen.transport.channel import Channel
from limen.transport.lane import Lane

__all__ = ["memory_pair"]

CAPACITY: Final = 64
"""Frames that may wait in one direction before the sender does."""


def memory_pair(capacity: int = CAPACITY) -> tuple[Channel, Channel]:
    """Both ends of one connection: what one sends the other receives."""
    there: Lane[bytes] = Lane(capacity)
    back: Lane[bytes] = Lane(capacity)
    return _MemoryChannel(out=there, into=back), _MemoryChannel(out=back, into=there)


@dataclass(frozen=True, slots=True)
class _MemoryChannel:
    out: Lane[bytes]
    into: Lane[bytes]

    async def send(self, frame: bytes) -> None:
        """Hand one frame to the other end."""
        await self.out.put(frame)

    async def receive(self) -> bytes | None:
        """The next frame from the other end."""
        return await self.into.get()

    async def aclose(self) -> None:
        """End both directions; the other end still receives what was sent."""
        self.out.end()
        self.into.end()
