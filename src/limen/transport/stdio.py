"""The process's own stdin and stdout as a channel. Nothing else may read the one or write to the other meanwhile.

While the channel is open, descriptor 0 reads as empty and descriptor 1 is stderr, so that a stray `print`
in a plugin, or a child that inherits them, can neither break the stream nor steal from it.
"""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from typing import Final

from limen.transport.channel import Channel
from limen.transport.lines import HIGH_WATER_BYTES, LineChannel, WriteSide
from limen.transport.pipes import lent

__all__ = ["open_own_stdio"]

_STDIN: Final = 0
_STDOUT: Final = 1
_STDERR: Final = 2
_READ_BYTES: Final = 64 * 1024


@asynccontextmanager
async def open_own_stdio(limit_bytes: int) -> AsyncGenerator[Channel]:
    """The channel to whoever started this process; descriptors and their modes are put back at the end."""
    with ExitStack() as descriptors:
        source = descriptors.enter_context(_taken(_STDIN, os.O_RDONLY))
        target = descriptors.enter_context(_taken(_STDOUT, os.O_WRONLY))
        channel = await _connect(source, target, limit_bytes, descriptors)
        try:
            yield channel
        finally:
            await channel.aclose()


async def _connect(source: int, target: int, limit_bytes: int, descriptors: ExitStack) -> LineChannel:
    loop = asyncio.get_running_loop()
    if _is_pollable(source):
        channel = LineChannel(limit_bytes)
        pipe = lent(_private(source, os.O_RDONLY, descriptors), "rb", loop)
        await loop.connect_read_pipe(lambda: channel, pipe)
    else:
        channel = LineChannel(limit_bytes, pull=_puller(source))
    # Requests whose answers nobody reads are not worth reading either.
    side = WriteSide(channel, on_lost=channel.finish)
    if _is_pollable(target):
        pipe = lent(_private(target, os.O_WRONLY, descriptors), "wb", loop)
        await loop.connect_write_pipe(lambda: side, pipe)
    else:
        channel.attach(_FileSink(target, side))
    return channel


@contextmanager
def _taken(descriptor: int, mode: int) -> Generator[int]:
    """A private copy of a standard descriptor, which points elsewhere until the end."""
    private = os.dup(descriptor)
    _point_away(descriptor, mode)
    try:
        yield private
    finally:
        # What a stray print left in the buffer must not reach the stream when descriptor 1 is put back.
        with suppress(OSError, ValueError, AttributeError):
            sys.stdout.flush()
        os.dup2(private, descriptor)
        os.close(private)


def _point_away(descriptor: int, mode: int) -> None:
    if mode == os.O_WRONLY:
        with suppress(OSError):  # stderr itself may be closed
            os.dup2(_STDERR, descriptor)
            return
    nowhere = os.open(os.devnull, mode)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _is_pollable(descriptor: int) -> bool:
    kind = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) or os.isatty(descriptor)


def _private(descriptor: int, mode: int, descriptors: ExitStack) -> int:
    """A descriptor the event loop may own and make non-blocking.

    That mode belongs to the open file, which a terminal shares with the shell: a terminal is opened anew,
    so that even a killed process leaves it as it was. Elsewhere the old mode is restored at the end.
    """
    if os.isatty(descriptor):
        with suppress(OSError):
            return os.open(os.ttyname(descriptor), mode | os.O_NOCTTY | os.O_NONBLOCK)
    descriptors.callback(os.set_blocking, descriptor, os.get_blocking(descriptor))
    return os.dup(descriptor)


def _puller(descriptor: int) -> Callable[[], Awaitable[bytes]]:
    """Reads a file or device the event loop cannot wait for; these never block for long."""

    async def pull() -> bytes:
        return await asyncio.to_thread(os.read, descriptor, _READ_BYTES)

    return pull


class _FileSink:
    """Writes to a file or device the event loop cannot wait for, in order, on one thread."""

    def __init__(self, descriptor: int, side: WriteSide) -> None:
        self._descriptor = descriptor
        self._side = side
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="limen-stdout")
        self._waiting = 0
        self._is_closing = False
        self._is_broken = False

    def write(self, data: bytes, /) -> None:
        """Queue the bytes; the channel's senders wait when too many are queued."""
        self._waiting += len(data)
        if self._waiting > HIGH_WATER_BYTES:
            self._side.pause_writing()
        self._thread.submit(self._write_all, data)

    def _write_all(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest and not self._is_broken:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            self._is_broken = True
            self._loop.call_soon_threadsafe(self._side.connection_lost, error)
        self._loop.call_soon_threadsafe(self._written, len(data))

    def _written(self, size: int) -> None:
        self._waiting -= size
        if not self._waiting:
            self._side.resume_writing()
            if self._is_closing:
                self.abort()

    def close(self) -> None:
        """Stop when the queue is written."""
        self._is_closing = True
        if not self._waiting:
            self.abort()

    def abort(self) -> None:
        """Stop after the write under way."""
        self._is_broken = True
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._side.connection_lost(None)
