"""Frames as lines of bytes: splitting, bounds and back-pressure for every channel made of pipes. Opens nothing.

This is the hot path of stdio. A read may bring many lines; they wait in a deque and `receive` hands them
out without touching the event loop. No task, queue object or thread stands between a line and its reader.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from limen.errors import ChannelClosed, TooLarge

__all__ = ["LineChannel", "LineSink", "WriteSide"]

HIGH_WATER_BYTES: Final = 256 * 1024
"""Unread input beyond which reading pauses; also the write buffer beyond which senders wait."""
LOW_WATER_BYTES: Final = 64 * 1024
HEAD_BYTES: Final = 256
"""So much of a line that is too long is kept, to tell what it was."""
FLUSH_S: Final = 2.0
"""How long closing waits for a slow reader to take what was already sent."""

_ONE_LINE: Final = bytes.maketrans(b"\r\n", b"  ")
# Blank lines are never queued, so the empty line is free to mark one that was too long.
_DROPPED: Final = b""


class LineSource(Protocol):
    """The part of a read transport that a channel needs; the loops' own classes share no common base."""

    def pause_reading(self) -> None:
        """Deliver nothing for now."""
        ...

    def resume_reading(self) -> None:
        """Deliver again."""
        ...

    def close(self) -> None:
        """Deliver nothing more."""
        ...


class LineSink(Protocol):
    """The part of a write transport that a channel needs."""

    def write(self, data: bytes, /) -> None:
        """Take bytes, in order."""
        ...

    def close(self) -> None:
        """Stop once everything taken is written."""
        ...

    def abort(self) -> None:
        """Stop now."""
        ...


class LineChannel(asyncio.Protocol):
    """A channel over two byte streams; the protocol of the one it reads."""

    def __init__(self, limit_bytes: int, *, pull: Callable[[], Awaitable[bytes]] | None = None) -> None:
        self._limit = limit_bytes
        self._loop = asyncio.get_running_loop()
        self._pull = pull
        self._reader: LineSource | None = None
        self._lines: deque[bytes] = deque()
        self._heads: deque[bytes] = deque()
        self.dropped = b""
        """How the line began that was dropped last."""
        self._unread = 0
        self._partial: list[bytes] = []
        self._partial_size = 0
        self._is_discarding = False
        self._is_reading_paused = False
        self._is_finished = False
        self._waiter: asyncio.Future[None] | None = None
        self._take: Callable[[bytes], bool] | None = None
        self._batch = 0
        self._sink: LineSink | None = None
        self._outgoing: list[bytes] = []
        self._outgoing_size = 0
        self._is_writing_paused = False
        self._is_sink_lost = False
        self._senders: deque[asyncio.Future[None]] = deque()
        self._sink_gone = asyncio.Event()
        self._is_closed = False

    def connection_made(self, transport: Any) -> None:
        """The stream to read is open."""
        self._reader = transport

    def data_received(self, data: bytes) -> None:
        """Split what arrived into lines."""
        if self._is_closed:
            return
        if self._take is not None and self._waiter is not None and data.find(b"\n") == len(data) - 1:
            # A line that came alone and whole, for a reader with nothing else to do; its end is white space to JSON.
            is_next = not (self._lines or self._partial or self._is_discarding) and len(data) <= self._limit
            self._batch = 1
            if is_next and self._take(data):
                return
        self._unread += len(data)
        lines = data.split(b"\n")
        rest = lines.pop()
        if lines:
            if self._partial or self._is_discarding:
                lines[0] = self._complete(lines[0])
            self._queue(lines, has_returns=b"\r" in data or lines[0][-1:] == b"\r")
        if rest:
            self._hold(rest)
        if self._lines:
            if self._waiter is not None and not self._waiter.done():
                self._waiter.set_result(None)
            if self._unread > HIGH_WATER_BYTES and not self._is_reading_paused and self._reader is not None:
                self._is_reading_paused = True
                self._reader.pause_reading()

    def _queue(self, lines: list[bytes], *, has_returns: bool) -> None:
        limit, append = self._limit, self._lines.append
        self._batch = len(lines)
        for line in lines:
            if has_returns and line[-1:] == b"\r":
                line = line[:-1]
            if not line or line.isspace():
                continue
            if len(line) > limit:
                self._heads.append(line[:HEAD_BYTES])
                line = _DROPPED
            append(line)

    def _hold(self, piece: bytes) -> None:
        if self._is_discarding:
            return
        self._partial.append(piece)
        self._partial_size += len(piece)
        if self._partial_size > self._limit + 1:  # one more for a carriage return
            # Told at once rather than at the line's end, which may never come.
            self._is_discarding = True
            self._heads.append(b"".join(self._partial)[:HEAD_BYTES])
            self._partial.clear()
            self._partial_size = 0
            self._lines.append(_DROPPED)

    def _complete(self, last_piece: bytes) -> bytes:
        if self._is_discarding:
            self._is_discarding = False
            return b""
        line = b"".join((*self._partial, last_piece))
        self._partial.clear()
        self._partial_size = 0
        return line

    def eof_received(self) -> bool:
        """The other side will send no more."""
        self.finish()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The stream to read is gone."""
        self.finish()

    def finish(self) -> None:
        """No more lines will come; those that wait are still handed out."""
        if self._is_finished:
            return
        self._is_finished = True
        if self._partial:
            # A last line without its end is whole when the stream ends in good order.
            self._queue([self._complete(b"")], has_returns=True)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def receive(self) -> bytes | None:
        """The next line, or None once the stream has ended.

        Raises:
            TooLarge: a line passed the limit and was dropped.
        """
        lines = self._lines
        if not lines:
            await self._refill()
            if not lines:
                return None
        line = lines.popleft()
        if not line:
            self.dropped = self._heads.popleft()
            raise TooLarge(f"a line is longer than the limit of {self._limit} bytes", limit="frame_bytes")
        return line

    async def _refill(self) -> None:
        while not self._lines:
            self._unread = 0
            if self._is_finished:
                return
            if self._pull is not None:
                data = await self._pull()
                self.data_received(data) if data else self.finish()
                continue
            if self._is_reading_paused and self._reader is not None:
                self._is_reading_paused = False
                self._reader.resume_reading()
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None

    def offer_to(self, take: Callable[[bytes], bool] | None) -> None:
        """Offer lines that arrive alone to somebody quicker than the reader."""
        self._take = take

    def attach(self, sink: LineSink) -> None:
        """Where sent frames go."""
        self._sink = sink

    async def send(self, frame: bytes) -> None:
        """Write one frame as a line.

        Raises:
            ChannelClosed: the other side does not read any more.
        """
        sink = self._sink
        if sink is None or self._is_sink_lost or self._is_closed:
            raise self.closed()
        if b"\n" in frame or b"\r" in frame:
            # Outside strings they are mere white space, and inside strings JSON does not allow them.
            frame = frame.translate(_ONE_LINE)
        # Answers to lines that arrived together mostly leave together: one write for all of them saves
        # a system call each. A lone request is answered at once, without a turn of the loop in between.
        if self._batch > 1 or self._outgoing:
            self._collect(frame)
        else:
            sink.write(frame + b"\n")
        if self._is_writing_paused:
            await self._drained()

    def _collect(self, frame: bytes) -> None:
        if not self._outgoing:
            self._loop.call_soon(self._flush)
        self._outgoing.append(frame)
        self._outgoing_size += len(frame)
        if self._outgoing_size > LOW_WATER_BYTES:
            self._flush()

    def _flush(self) -> None:
        if not self._outgoing:
            return
        self._outgoing.append(b"")
        data = b"\n".join(self._outgoing)
        self._outgoing.clear()
        self._outgoing_size = 0
        if self._sink is not None and not self._is_sink_lost:
            self._sink.write(data)

    async def _drained(self) -> None:
        waiter = self._loop.create_future()
        self._senders.append(waiter)
        try:
            await waiter
        finally:
            self._senders.remove(waiter)
        if self._is_sink_lost:
            raise self.closed()

    def pause_writing(self) -> None:
        """The other side reads too slowly; senders wait."""
        self._is_writing_paused = True

    def resume_writing(self) -> None:
        """The other side caught up."""
        self._is_writing_paused = False
        for waiter in self._senders:
            if not waiter.done():
                waiter.set_result(None)

    def sink_lost(self) -> None:
        """Nobody reads what is sent any more."""
        self._is_sink_lost = True
        self._sink_gone.set()
        self.resume_writing()

    def closed(self) -> ChannelClosed:
        """The error for those who send when nobody reads."""
        return ChannelClosed("the other side has closed the stream")

    async def aclose(self) -> None:
        """Send what was taken, within a bound, and let go of both streams."""
        await self.close_sink()
        if self._reader is not None:
            self._reader.close()
        self.finish()

    async def close_sink(self) -> None:
        """End the outgoing stream; the other side sees its end once it has read everything."""
        self._is_closed = True
        if self._is_reading_paused and self._reader is not None:
            # From here on input is thrown away, but it must flow: the other side may wait for us to take it.
            self._is_reading_paused = False
            self._reader.resume_reading()
        sink = self._sink
        if sink is None or self._is_sink_lost:
            return
        self._flush()
        sink.close()
        try:
            async with asyncio.timeout(FLUSH_S):
                await self._sink_gone.wait()
        except TimeoutError:
            sink.abort()


class WriteSide(asyncio.Protocol):
    """The protocol of the stream that a channel writes; passes on what the channel must know."""

    def __init__(self, channel: LineChannel, on_lost: Callable[[], None] | None = None) -> None:
        self._channel = channel
        self._on_lost = on_lost

    def connection_made(self, transport: Any) -> None:
        """The stream to write is open."""
        transport.set_write_buffer_limits(high=HIGH_WATER_BYTES, low=LOW_WATER_BYTES)
        self._channel.attach(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """The stream to write is gone."""
        self._channel.sink_lost()
        if self._on_lost is not None:
            self._on_lost()

    def pause_writing(self) -> None:
        """Too much is waiting to be written."""
        self._channel.pause_writing()

    def resume_writing(self) -> None:
        """Most of it has been written."""
        self._channel.resume_writing()
