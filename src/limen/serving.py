"""Serves a hub over HTTP; apart from `app.py`, so that a hub on stdio starts without a line of it."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol
from urllib.parse import urlsplit

from limen.app import Limen, open_limen
from limen.config.model import Settings
from limen.config.paths import Paths
from limen.server.auth import LocalPeers
from limen.server.guard import Guard
from limen.server.http import HttpDoor, HttpLimits, Identify, Route
from limen.server.legacy import LegacyDoor, LegacyLimits
from limen.server.listener import ListenLimits, serve_http

__all__ = ["Besides", "run_http"]


class Besides(Protocol):
    """What a layer above serves on the same listener."""

    @property
    def routes(self) -> dict[str, Route]:
        """By exact path."""
        ...

    @property
    def prefixes(self) -> dict[str, Route]:
        """By the first segment of the path."""
        ...

    def stop(self) -> None:
        """End what would never end by itself."""
        ...


async def run_http(
    settings: Settings,
    paths: Paths,
    on_ready: Callable[[str], None],
    besides: Callable[[Limen, Identify], Besides] | None = None,
    follow: Callable[[Limen], AbstractAsyncContextManager[None]] | None = None,
) -> None:
    """Serve HTTP clients until told to stop; `follow` is open meanwhile."""
    server, limits = settings.server, settings.limits

    def guard(port: int) -> Guard:
        return Guard.build(server.host, port, server.allowed_hosts, server.allowed_origins)

    async with open_limen(settings, paths) as limen:
        door = HttpDoor(
            limen.surface,
            guard(server.port),
            LocalPeers(limen.local),
            HttpLimits(
                limits.body_bytes,
                server.keepalive_s,
                server.session_idle_s,
                server.max_sessions,
                server.event_buffer,
                server.send_queue,
            ),
        )

        more = besides(limen, door.identify) if besides is not None else None
        if more is not None:
            door.more_routes.update(more.routes)
            door.more_prefixes.update(more.prefixes)

        older = _legacy(limen, door) if server.legacy_sse else None

        def stop() -> None:
            door.stop()
            if older is not None:
                older.stop()
            if more is not None:
                more.stop()

        def ready(url: str) -> None:
            # Port 0 becomes a real one only now, and the guard must know it.
            door.guard = guard(urlsplit(url).port or server.port)
            on_ready(url)

        async with door.running(), follow(limen) if follow is not None else nullcontext():
            await serve_http(
                door,
                host=server.host,
                port=server.port,
                limits=ListenLimits(server.max_connections, server.header_timeout_s, server.body_timeout_s),
                on_ready=ready,
                on_stop=stop,
                on_cut=door.cut,
            )


def _legacy(limen: Limen, door: HttpDoor) -> LegacyDoor:
    server, limits = limen.settings.server, limen.settings.limits
    bounds = LegacyLimits(limits.body_bytes, server.keepalive_s, server.send_queue, server.max_sessions)
    older = LegacyDoor(limen.surface, door.identify, bounds)
    door.more_routes.update(older.routes)
    return older
