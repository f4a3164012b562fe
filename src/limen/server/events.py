"""Server-sent events of one session: numbered, kept for replay within a bound, and handed to whoever reads now.

Event ids mean something only inside the session that issued them, and a session only to its principal;
so nobody can replay what was not theirs. A reader that falls behind is dropped, never waited for.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from secrets import token_hex
from typing import Final

from limen.transport.sse import encode_event

__all__ = ["LIVE", "EventLog", "FirstSign", "Reader"]

LIVE: Final = "live"
"""The stream of what belongs to no request."""
RETRY_MS: Final = 500
KEPT_BYTES: Final = 8 * 1024 * 1024
"""What one session may keep for replay, however few events that is."""
WAITING_BYTES: Final = 16 * 1024 * 1024
"""What may wait for one reader; one more event than this is too much."""
_ID_DIGITS: Final = 18


class FirstSign:
    """Waits for the first of three things: something to stream, the end of the work, a quiet spell."""

    __slots__ = ("_future", "_timer")

    def __init__(self, quiet_s: float) -> None:
        loop = asyncio.get_running_loop()
        self._future: asyncio.Future[None] = loop.create_future()
        self._timer = loop.call_later(quiet_s, self.wake)

    def wake(self, _: object = None) -> None:
        """It has come."""
        if not self._future.done():
            self._future.set_result(None)

    async def wait(self) -> None:
        """Until it comes."""
        try:
            await self._future
        finally:
            self._timer.cancel()


class Reader:
    """One open response: what is waiting to be written, up to a limit."""

    def __init__(self, limit: int, evict: Callable[[], None]) -> None:
        self._limit = limit
        self._evict = evict
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._wake = asyncio.Event()
        self.is_done = False

    def push(self, chunk: bytes) -> None:
        """Queue a chunk, or give the reader up when it is too far behind."""
        if self.is_done:
            return
        if len(self._waiting) >= self._limit or (self._waiting and self._waiting_bytes > WAITING_BYTES):
            self.finish()
            self._waiting.clear()
            self._evict()
            return
        self._waiting.append(chunk)
        self._waiting_bytes += len(chunk)
        self._wake.set()

    @property
    def is_quiet(self) -> bool:
        """Whether there is nothing to write yet."""
        return not self._waiting and not self.is_done

    def finish(self) -> None:
        """Nothing more will come."""
        self.is_done = True
        self._wake.set()

    async def next(self, keepalive_s: float) -> bytes | None:
        """What to write now: everything queued, a comment when it was quiet, None at the end."""
        if not self._waiting and not self.is_done:
            self._wake.clear()
            try:
                async with asyncio.timeout(keepalive_s):
                    await self._wake.wait()
            except TimeoutError:
                return b": keepalive\n\n"
        if not self._waiting:
            return None
        chunk = b"".join(self._waiting)
        self._waiting.clear()
        self._waiting_bytes = 0
        return chunk


class EventLog:
    """All streams of one session."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._kept: deque[tuple[int, str, bytes]] = deque()
        self._kept_bytes = 0
        self._readers: dict[str, Reader] = {}
        self._open: set[str] = {LIVE}
        self._last = 0
        self._heard = 0
        """The last live event that had a reader when it came."""
        self._streams = 0
        self._mark = token_hex(4)
        """Part of every id, so that an id of another session means nothing here."""

    def open(self) -> str:
        """Begin a stream that will end; its name is part of its event ids."""
        self._streams += 1
        name = str(self._streams)
        self._open.add(name)
        return name

    def publish(self, stream: str, frame: bytes, *, last: bool = False) -> None:
        """Number a frame, keep it, and pass it to the stream's reader; `last` ends the stream."""
        chunk = encode_event(frame, self._next_id(stream))
        self._keep(stream, chunk)
        reader = self._readers.get(stream)
        if reader is not None:
            reader.push(chunk)
            if stream == LIVE:
                self._heard = self._last
        if last:
            self._open.discard(stream)
            self.detach(stream)

    def _keep(self, stream: str, chunk: bytes) -> None:
        kept = self._kept
        kept.append((self._last, stream, chunk))
        self._kept_bytes += len(chunk)
        while kept and (len(kept) > self._capacity or self._kept_bytes > KEPT_BYTES):
            self._kept_bytes -= len(kept.popleft()[2])

    def primer(self, stream: str) -> bytes:
        """The first event of a response: an id to come back with, and how soon to."""
        return encode_event(b"", self._next_id(stream), retry_ms=RETRY_MS)

    def listen(self, reader: Reader) -> None:
        """Give a reader the live stream, from what nobody has heard yet: clients open it after they said hello."""
        unheard = [(number, chunk) for number, name, chunk in self._kept if name == LIVE and number > self._heard]
        if unheard:
            # The primer's id must come before theirs, so that a reader which loses them can ask for them again.
            first = encode_event(b"", self._id(unheard[0][0] - 1, LIVE), retry_ms=RETRY_MS)
            reader.push(first + b"".join([chunk for _, chunk in unheard]))
        else:
            reader.push(self.primer(LIVE))
        self._heard = self._last
        self.attach(LIVE, reader)

    def attach(self, stream: str, reader: Reader) -> None:
        """From now on this reader gets the stream; an earlier one ends."""
        self.detach(stream)
        self._readers[stream] = reader

    def detach(self, stream: str, reader: Reader | None = None) -> None:
        """End the stream's reader (only this one, when it is given)."""
        current = self._readers.get(stream)
        if current is not None and reader in (None, current):
            current.finish()
            del self._readers[stream]

    def replay(self, last_event_id: str, reader: Reader) -> str | None:
        """Give a reader all that its stream had after an event, and what will come.

        Returns the stream, or None when the id was never issued here.
        """
        number, _, rest = last_event_id.partition(".")
        stream, _, mark = rest.partition(".")
        # Longer numbers were never issued, and int() refuses some of them by raising.
        if mark != self._mark or not number.isdecimal() or len(number) > _ID_DIGITS:
            return None
        if not 0 <= int(number) <= self._last or not self._knows(stream):
            return None
        missed = [chunk for kept, name, chunk in self._kept if name == stream and kept > int(number)]
        if missed:
            # In one piece: what was kept for this reader must not count as falling behind.
            reader.push(b"".join(missed))
        if stream == LIVE:
            self._heard = self._last
        if stream in self._open:
            self.attach(stream, reader)
        else:
            reader.finish()
        return stream

    def _knows(self, stream: str) -> bool:
        return stream in self._open or any(kept_stream == stream for _, kept_stream, _ in self._kept)

    def _next_id(self, stream: str) -> str:
        self._last += 1
        return self._id(self._last, stream)

    def _id(self, number: int, stream: str) -> str:
        return f"{number}.{stream}.{self._mark}"

    def close(self) -> None:
        """End every reader."""
        for reader in self._readers.values():
            reader.finish()
        self._readers.clear()
