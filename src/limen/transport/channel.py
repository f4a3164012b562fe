"""The one seam between Limen and whatever carries its frames."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from limen.protocol.frames import RequestId

__all__ = ["Attributing", "Channel", "Offering"]


class Channel(Protocol):
    """A two-way stream of whole frames. One reader; any number of senders."""

    async def send(self, frame: bytes) -> None:
        """Hand one frame over, in order; waits only when the other side reads too slowly.

        Raises:
            ChannelClosed: nobody is there to read it.
        """
        ...

    async def receive(self) -> bytes | None:
        """The next frame, or None once the other side is done.

        Raises:
            TooLarge: a frame passed its limit and was dropped; the next call reads the one after it.
        """
        ...

    async def aclose(self) -> None:
        """Let go, in bounded time. Harmless to call twice."""
        ...


@runtime_checkable
class Attributing(Protocol):
    """A channel that knows which request of ours a frame came with."""

    def origin(self) -> RequestId | None:
        """The request whose stream brought the frame that was received last; None when it belongs to none."""
        ...


@runtime_checkable
class Offering(Protocol):
    """A channel that can offer a frame the moment it arrives, without waking its reader first."""

    def offer_to(self, take: Callable[[bytes], bool] | None) -> None:
        """Offer each frame that arrives alone while the reader waits; what is not taken goes to the reader as ever.

        `take` is called outside of any task.
        """
        ...
