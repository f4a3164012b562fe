"""A unix socket as channels, for processes of one user on one machine. Whoever is not that user is not let in."""

import asyncio
import logging
import os
import socket
import struct
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

from limen.transport.channel import Channel
from limen.transport.lines import HIGH_WATER_BYTES, LOW_WATER_BYTES, LineChannel

__all__ = ["fits", "open_local_door"]

log = logging.getLogger(__name__)

LONGEST_PATH: Final = 100
"""Bytes that the path of a socket may have everywhere."""
_IS_LINUX: Final = sys.platform == "linux"
_CREDENTIALS: Final = struct.Struct("3i")


class _SocketChannel(LineChannel):
    """Lines over one connection."""

    def __init__(self, limit_bytes: int, begin: "Callable[[_SocketChannel, Any], None]") -> None:
        super().__init__(limit_bytes)
        self._begin = begin

    def connection_made(self, transport: Any) -> None:
        """Somebody has connected."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=HIGH_WATER_BYTES, low=LOW_WATER_BYTES)
        self.attach(transport)
        self._begin(self, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """They are gone."""
        self.sink_lost()
        super().connection_lost(exc)


def fits(path: Path) -> bool:
    """Whether a socket can have this path."""
    return hasattr(socket, "AF_UNIX") and len(os.fsencode(path)) <= LONGEST_PATH


@asynccontextmanager
async def open_local_door(
    path: Path, limit_bytes: int, serve: Callable[[Channel], Awaitable[None]]
) -> AsyncGenerator[bool]:
    """Serve whoever connects, until the end; yields False when somebody else does so already, or nobody can."""
    if not fits(path) or not await asyncio.to_thread(_make_way, path):
        yield False
        return
    loop = asyncio.get_running_loop()
    serving: set[asyncio.Task[None]] = set()

    def begin(channel: _SocketChannel, transport: Any) -> None:
        if not _is_own_user(transport.get_extra_info("socket")):
            log.warning("connection of another user refused", extra={"path": str(path)})
            transport.abort()
            return
        task = loop.create_task(_serve(channel, serve))
        serving.add(task)
        task.add_done_callback(serving.discard)

    before = os.umask(0o177)
    try:
        server = await loop.create_unix_server(lambda: _SocketChannel(limit_bytes, begin), str(path))
    finally:
        os.umask(before)
    try:
        yield True
    finally:
        server.close()
        _clear(path)
        for task in serving:
            task.cancel()
        if serving:
            await asyncio.wait(serving, timeout=5.0)


async def _serve(channel: _SocketChannel, serve: Callable[[Channel], Awaitable[None]]) -> None:
    try:
        await serve(channel)
    except Exception:
        # The supervisor: one client's misfortune is not another's.
        log.exception("local client failed")
    finally:
        await channel.aclose()


def _make_way(path: Path) -> bool:
    """See that nothing is in the way; False when somebody answers there."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(0.5)
        try:
            probe.connect(str(path))
        except FileNotFoundError:
            return True
        except OSError:
            # Left behind by one that was killed.
            path.unlink(missing_ok=True)
            return True
    return False


def _clear(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def _is_own_user(connection: socket.socket | None) -> bool:
    if connection is None:
        return False
    if not _IS_LINUX:
        # The socket's mode lets nobody else in.
        return True
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return _CREDENTIALS.unpack(raw)[1] in (os.getuid(), 0)
