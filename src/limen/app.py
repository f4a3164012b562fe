"""Builds the hub out of its settings; the only place that knows every part."""

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from limen.brain.access import BrainAccess, open_access
from limen.brain.rules import BrainRules
from limen.calls.call import Caller, Subject
from limen.calls.changes import ChangeFeed
from limen.calls.pipeline import Pipeline
from limen.calls.ports import Provider
from limen.config.childenv import child_environment
from limen.config.load import environment
from limen.config.model import Settings
from limen.config.paths import Paths
from limen.errors import ConfigInvalid
from limen.gateway.access import GatewayAccess, open_gateway_access
from limen.gateway.options import GatewayOptions
from limen.gateway.shelf import Shelf, ShelfLimits, open_shelf
from limen.governance.approvals import NoApprover
from limen.governance.audit import AuditTrail, open_audit
from limen.governance.policy import LOCAL_ROLE, LocalPolicy
from limen.protocol.frames import FrameLimits
from limen.server.seal import Seal
from limen.server.surface import Surface
from limen.toolsets.hub import hub_toolset
from limen.toolsets.memory import memory_toolset
from limen.toolsets.operations import LaterOperations, Operations

if TYPE_CHECKING:
    from limen.gateway.gateway import Gateway
    from limen.toolsets.finding import Finding

__all__ = ["Limen", "open_limen"]

log = logging.getLogger(__name__)

PLUGINS = "limen.toolsets"
"""The entry point group of toolsets that other packages bring."""


class Limen(Struct, frozen=True):
    """A running hub."""

    settings: Settings
    paths: Paths
    pipeline: Pipeline
    changes: ChangeFeed
    surface: Surface
    audit: AuditTrail
    brains: BrainAccess
    upstreams: GatewayAccess
    local: Caller
    """Whoever runs this process, as far as its clients may go."""
    owner: Caller
    """Whoever runs this process, at the keyboard: no tier holds them back."""

    @property
    def gateway(self) -> "Gateway | None":
        """The way to other servers, where there are any."""
        return self.upstreams.gateway


@asynccontextmanager
async def open_limen(settings: Settings, paths: Paths, *, for_clients: bool = True) -> AsyncGenerator[Limen, None]:
    """Open the hub's state and put its parts together.

    What spares a client's context is left out of a hub that is not `for_clients`: a command sees every tool and gets
    every result whole.

    Raises:
        ConfigInvalid: a toolset is named that nobody brings.
        StoreUnavailable: the state cannot be opened.
    """
    changes = ChangeFeed()
    async with (
        open_audit(paths.state_dir / "hub.db", settings.audit.arguments) as audit,
        open_access(paths.data_dir / "brains", _brain_rules(settings)) as brains,
        AsyncExitStack() as stack,
    ):
        own: list[Provider] = [_open_toolset(name, changes, brains) for name in settings.toolsets]
        shelf = await stack.enter_async_context(_open_shelf(settings, paths)) if for_clients else None
        finding = _finding(settings) if for_clients else None
        own += [finding.toolset] if finding is not None else []
        own += [shelf] if shelf is not None else []
        options = _gateway_options(settings, paths, changes, tuple(own), shelf)
        upstreams = await stack.enter_async_context(open_gateway_access(settings.servers, options))
        shown: Provider = upstreams if finding is None else finding.cover(upstreams)
        providers = [*own, shown, *_operations(brains)]
        forwards = {} if finding is None else finding.forwards
        pipeline = Pipeline(providers, LocalPolicy(), NoApprover(), audit, forwards=forwards)
        surface = Surface(
            pipeline,
            changes,
            Seal.load(paths.state_dir / "seal.key"),
            tuple(settings.server.protocol_versions),
            _frame_limits(settings),
        )
        subject, roles = Subject(f"local:{getuser()}"), frozenset({LOCAL_ROLE})
        local = Caller(subject, roles, tier=settings.tier)
        owner = Caller(subject, roles, client="limen", tier="admin")
        yield Limen(settings, paths, pipeline, changes, surface, audit, brains, upstreams, local, owner)


def _open_shelf(settings: Settings, paths: Paths) -> AbstractAsyncContextManager[Shelf]:
    return open_shelf(paths.cache_dir / "results", ShelfLimits(result_bytes=settings.limits.result_bytes))


def _finding(settings: Settings) -> "Finding | None":
    if settings.expose.mode == "all":
        return None
    from limen.toolsets.finding import Finding  # noqa: PLC0415 - see limen.brain.access

    return Finding(settings.expose.favourites, settings.memory.embedder)


def _gateway_options(
    settings: Settings, paths: Paths, changes: ChangeFeed, own: Sequence[Provider], shelf: Shelf | None
) -> GatewayOptions:
    return GatewayOptions(
        cache_dir=paths.cache_dir / "definitions",
        credentials_dir=paths.state_dir / "oauth",
        environment=child_environment(environment()),
        roots=settings.allowed_file_roots,
        changes=changes,
        is_taken=lambda kind, name: any(provider.find(kind, name) is not None for provider in own),
        shelf=shelf,
    )


def _frame_limits(settings: Settings) -> FrameLimits:
    # Each door has a limit of its own on lines or bodies; what passed it is measured here for the rest.
    limits = settings.limits
    return FrameLimits(max(limits.body_bytes, limits.line_bytes), limits.string_bytes, limits.depth)


def _brain_rules(settings: Settings) -> BrainRules:
    return BrainRules(
        default=settings.memory.default_brain,
        file_roots=tuple(Path(root) for root in settings.allowed_file_roots),
        embedder=settings.memory.embedder,
        fetch_hosts=settings.memory.allowed_hosts,
        watches=settings.memory.watch,
    )


def _operations(brains: BrainAccess) -> Sequence[Provider]:
    """What REST and the command line can do, loaded when they do it."""

    def store() -> Operations:
        from limen.toolsets.store import store_operations  # noqa: PLC0415 - see limen.brain.access

        return store_operations(brains)

    def upkeep() -> Operations:
        from limen.toolsets.upkeep import upkeep_operations  # noqa: PLC0415 - see limen.brain.access

        return upkeep_operations(brains)

    return (LaterOperations("store", store), LaterOperations("upkeep", upkeep))


def _open_toolset(name: str, changes: ChangeFeed, brains: BrainAccess) -> Provider:
    match name:
        case "hub":
            return hub_toolset()
        case "memory":
            return memory_toolset(brains)
        case _:
            return _load_toolset(name, changes)


def _load_toolset(name: str, changes: ChangeFeed) -> Provider:
    # Looking through installed packages is slow, so only a name that is not ours is worth it.
    from importlib.metadata import entry_points  # noqa: PLC0415

    found = {point.name: point for point in entry_points(group=PLUGINS)}
    if name not in found:
        known: Sequence[str] = sorted({"hub", "memory", *found})
        raise ConfigInvalid(
            f"toolsets: no toolset {name!r} is installed; there is {', '.join(known)}", field="toolsets"
        )
    return found[name].load()(changes)
