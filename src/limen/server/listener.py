"""The HTTP listener: binds, runs an ASGI app on uvicorn's protocol, ends in bounded time; knows no route and no MCP."""

import asyncio
import errno
import logging
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from email.utils import formatdate
from ipaddress import ip_address
from typing import Final

from limen.errors import ConfigInvalid
from limen.server.line import LINE, Line, Peers, WatchedLine
from limen.server.linelimits import ListenLimits
from limen.server.responses import Receive, Scope, Send
from limen.transport.eager import Understudy

__all__ = ["LINE", "App", "Line", "ListenLimits", "serve_http"]

log = logging.getLogger(__name__)

BACKLOG: Final = 2048
NOTICE_S: Final = 1.0
"""How long an app may take to notice that its client is gone."""
PROBE_AFTER_S: Final = 30
PROBE_EVERY_S: Final = 10
ABSENT: Final = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)

App = Callable[[Scope, Receive, Send], Awaitable[None]]


async def serve_http(  # noqa: PLR0913 -- each is one fact of a listener, and all but the app are named
    app: App,
    *,
    host: str,
    port: int,
    limits: ListenLimits,
    on_ready: Callable[[str], None],
    stop: asyncio.Event | None = None,
    on_stop: Callable[[], None] | None = None,
    on_cut: Callable[[], None] | None = None,
) -> None:
    """Serve the app until SIGINT, SIGTERM or `stop`; a second signal ends it at once.

    `on_ready` hears the URL, with the real port when `port` is 0. `on_stop` is the moment to end what is endless:
    streams still open `limits.grace_s` later are dropped. `on_cut` is that later moment, to give up what still runs.

    Raises:
        ConfigInvalid: when the address cannot be bound.
    """
    stop = stop or asyncio.Event()
    sockets = await _bind(host, port)
    lines = _Lines(app, limits)
    loop = asyncio.get_running_loop()
    servers = [await loop.create_server(lines.admit, sock=sock, backlog=BACKLOG) for sock in sockets]
    try:
        with _signals(stop, lines.abort):
            lines.tick()
            on_ready(_url(host, sockets[0].getsockname()[1]))
            await stop.wait()
            for server in servers:
                server.close()
            if on_stop is not None:
                on_stop()
            await lines.drain()
    finally:
        for server in servers:
            server.close()
        if on_cut is not None:
            on_cut()
        await lines.end()


class _Lines:
    """Every connection of one listener, and the clock that runs over them."""

    def __init__(self, app: App, limits: ListenLimits) -> None:
        # Imported here because a hub on stdio opens no port, and uvicorn takes longer to load than all of that hub.
        from uvicorn.config import Config
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
        from uvicorn.server import ServerState

        class UvicornLine(WatchedLine, HttpToolsProtocol):
            """WatchedLine on top of the protocol it watches."""

        self._line = UvicornLine
        self._loop = asyncio.get_running_loop()
        self._peers = Peers(limits, Understudy(self._loop))
        self._state = ServerState()
        self._config = Config(
            app,
            http=UvicornLine,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level=logging.ERROR,
            access_log=False,
            server_header=False,
            proxy_headers=False,
        )
        self._config.load()
        self._next_tick: asyncio.TimerHandle | None = None

    def admit(self) -> WatchedLine:
        """A protocol for a connection that was just accepted."""
        return self._line(self._config, self._state, self._peers)

    def tick(self) -> None:
        """End the connections whose time is up, and come back for the others."""
        self._next_tick = self._loop.call_later(self._peers.limits.tick_s, self.tick)
        self._state.default_headers = [(b"date", formatdate(usegmt=True).encode())]
        now = self._loop.time()
        for line in tuple(self._peers.lines):
            line.sweep(now)

    def abort(self) -> None:
        """Drop every connection."""
        for line in tuple(self._peers.lines):
            line.abort()

    async def drain(self) -> None:
        """Let open responses come to their end and reach their clients, for as long as the grace lasts."""
        for line in tuple(self._peers.lines):
            line.shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._peers.limits.grace_s):
                while self._peers.lines:
                    self._peers.lost.clear()
                    await self._peers.lost.wait()
        if self._peers.lines:
            log.info("connections cut off by the shutdown", extra={"count": len(self._peers.lines)})

    async def end(self) -> None:
        """Drop what is left and wait for its apps; those that do not notice are cancelled."""
        if self._next_tick is not None:
            self._next_tick.cancel()
        self.abort()
        self._peers.understudy.close()
        if self._state.tasks:
            await asyncio.wait(self._state.tasks, timeout=NOTICE_S)
        for task in self._state.tasks:
            task.cancel()
        if self._state.tasks:
            await asyncio.wait(self._state.tasks, timeout=NOTICE_S)
        if self._state.tasks:
            log.error("requests outlive the listener", extra={"count": len(self._state.tasks)})


@contextmanager
def _signals(stop: asyncio.Event, abort: Callable[[], None]) -> Generator[None]:
    """Turn the first signal into `stop` and the next ones into `abort`; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle() -> None:
        if stop.is_set():
            abort()
        stop.set()

    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        loop.add_signal_handler(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


async def _bind(host: str, port: int) -> list[socket.socket]:
    """One socket per address of the host, all on one port."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ConfigInvalid(f"host {host} has no address: pass --host 127.0.0.1 or another of this machine") from error
    bound: list[socket.socket] = []
    absent: OSError | None = None
    for family, _, _, _, address in dict.fromkeys(found):
        try:
            bound.append(_open_socket(family, (address[0], port, *address[2:])))
        except OSError as error:
            if error.errno in ABSENT:
                absent = error
                continue
            for sock in bound:
                sock.close()
            raise _unbindable(error, host, port) from error
        port = bound[0].getsockname()[1]
    if not bound:
        raise ConfigInvalid(
            f"host {host} is no address of this machine: pass --host 127.0.0.1 or one that is"
        ) from absent
    return bound


def _open_socket(family: int, address: tuple[str | int, ...]) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Set once here: what is accepted inherits it.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, seconds in (("TCP_KEEPIDLE", PROBE_AFTER_S), ("TCP_KEEPINTVL", PROBE_EVERY_S)):
            if hasattr(socket, option):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), seconds)
        sock.bind(address)
    except OSError:
        sock.close()
        raise
    return sock


def _unbindable(error: OSError, host: str, port: int) -> ConfigInvalid:
    match error.errno:
        case errno.EADDRINUSE:
            return ConfigInvalid(f"port {port} is taken: stop the other program or pass --port", port=port)
        case errno.EACCES:
            return ConfigInvalid(f"port {port} is reserved for the system: pass --port above 1023", port=port)
        case _:
            return ConfigInvalid(f"cannot listen on {host} port {port}: {error.strerror}", port=port)


def _url(host: str, port: int) -> str:
    """Where a client on this machine finds the listener."""
    with suppress(ValueError):
        address = ip_address(host)
        if address.is_unspecified:
            host = "127.0.0.1" if address.version == 4 else "::1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
