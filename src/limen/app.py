"""Builds the hub out of its settings; the only place that knows every part."""

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from getpass import getuser
from urllib.parse import urlsplit

from limen.calls.call import Caller, Subject
from limen.calls.changes import ChangeFeed
from limen.calls.pipeline import Pipeline
from limen.calls.ports import Provider
from limen.config.model import Settings
from limen.config.paths import Paths
from limen.errors import ConfigInvalid
from limen.governance.approvals import NoApprover
from limen.governance.audit import AuditTrail, open_audit
from limen.governance.policy import LOCAL_ROLE, LocalPolicy
from limen.protocol.frames import FrameLimits
from limen.server.auth import LocalPeers
from limen.server.connection import serve_channel
from limen.server.guard import Guard
from limen.server.http import HttpDoor, HttpLimits
from limen.server.listener import ListenLimits, serve_http
from limen.server.seal import Seal
from limen.server.surface import Surface
from limen.toolsets.hub import hub_toolset
from limen.transport.stdio import open_own_stdio

__all__ = ["Limen", "open_limen", "run_http", "run_stdio"]

log = logging.getLogger(__name__)

PLUGINS = "limen.toolsets"
"""The entry point group of toolsets that other packages bring."""


@dataclass(frozen=True, slots=True)
class Limen:
    """A running hub."""

    settings: Settings
    paths: Paths
    pipeline: Pipeline
    changes: ChangeFeed
    surface: Surface
    audit: AuditTrail
    local: Caller
    """Whoever runs this process."""


@asynccontextmanager
async def open_limen(settings: Settings, paths: Paths) -> AsyncGenerator[Limen, None]:
    """Open the hub's state and put its parts together.

    Raises:
        ConfigInvalid: a toolset is named that nobody brings.
        StoreUnavailable: the state cannot be opened.
    """
    changes = ChangeFeed()
    providers = [_open_toolset(name, changes) for name in settings.toolsets]
    async with open_audit(paths.state_dir / "hub.db", settings.audit.arguments) as audit:
        pipeline = Pipeline(providers, LocalPolicy(), NoApprover(), audit)
        surface = Surface(
            pipeline,
            changes,
            Seal.load(paths.state_dir / "seal.key"),
            tuple(settings.server.protocol_versions),
            _frame_limits(settings),
        )
        local = Caller(Subject(f"local:{getuser()}"), frozenset({LOCAL_ROLE}), tier=settings.tier)
        yield Limen(settings, paths, pipeline, changes, surface, audit, local)


async def run_stdio(settings: Settings, paths: Paths) -> None:
    """Serve the client on our own stdin and stdout until it leaves."""
    async with open_limen(settings, paths) as limen, open_own_stdio(settings.limits.line_bytes) as channel:
        await serve_channel(limen.surface, limen.local, channel)


async def run_http(settings: Settings, paths: Paths, on_ready: Callable[[str], None]) -> None:
    """Serve HTTP clients until told to stop."""
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

        def ready(url: str) -> None:
            # Port 0 becomes a real one only now, and the guard must know it.
            door.guard = guard(urlsplit(url).port or server.port)
            on_ready(url)

        async with door.running():
            await serve_http(
                door,
                host=server.host,
                port=server.port,
                limits=ListenLimits(server.max_connections, server.header_timeout_s, server.body_timeout_s),
                on_ready=ready,
                on_stop=door.stop,
                on_cut=door.cut,
            )


def _frame_limits(settings: Settings) -> FrameLimits:
    # Each door has a limit of its own on lines or bodies; what passed it is measured here for the rest.
    limits = settings.limits
    return FrameLimits(max(limits.body_bytes, limits.line_bytes), limits.string_bytes, limits.depth)


def _open_toolset(name: str, changes: ChangeFeed) -> Provider:
    if name == "hub":
        return hub_toolset()
    # Looking through installed packages is slow, so only a name that is not ours is worth it.
    from importlib.metadata import entry_points  # noqa: PLC0415

    found = {point.name: point for point in entry_points(group=PLUGINS)}
    if name not in found:
        known: Sequence[str] = sorted({"hub", *found})
        raise ConfigInvalid(
            f"toolsets: no toolset {name!r} is installed; there is {', '.join(known)}", field="toolsets"
        )
    return found[name].load()(changes)
