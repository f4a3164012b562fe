"""`limen stdio` without typer: serves one client on stdin and stdout, and writes nothing else there."""

import sys
from collections.abc import Mapping
from pathlib import Path

from limen.app import open_limen
from limen.cli.attaching import attach
from limen.cli.invocation import Invocation
from limen.cli.loading import load_settings, tell_problems
from limen.cli.loop import run_async
from limen.cli.options import NO_ATTACH
from limen.cli.overrides import override
from limen.config.load import Loaded
from limen.config.model import Settings
from limen.reloading import following_settings
from limen.server.connection import serve_channel
from limen.transport.stdio import open_own_stdio

__all__ = ["run_quick", "serve_stdio"]


def run_quick(options: Mapping[str, str], environment: Mapping[str, str]) -> int:
    """Serve with options that `read_options` has read; returns the exit code."""
    config = options.get("config")
    invocation = Invocation(environment, Path(config) if config else None, as_json="json" in options)
    serve_stdio(
        invocation,
        tier=options.get("tier"),
        toolsets=options.get("toolsets"),
        attaches=NO_ATTACH.name not in options,
    )
    return 0


def serve_stdio(invocation: Invocation, *, tier: str | None, toolsets: str | None, attaches: bool) -> None:
    """Serve until the client leaves: through a hub that runs already, where there is one, else by ourselves."""
    loaded = load_settings(invocation)
    tell_problems(invocation, loaded)
    if sys.stdin.isatty():
        invocation.output.say("waiting for an MCP client to speak JSON-RPC here; Ctrl-D ends it")
    settings = override(loaded.settings, tier=tier, toolsets=toolsets)
    if not attaches or not attach(settings, loaded):
        run_async(_serve(settings, loaded, invocation.environment))


async def _serve(settings: Settings, loaded: Loaded, environment: Mapping[str, str]) -> None:
    async with (
        open_limen(settings, loaded.paths) as limen,
        following_settings(limen.upstreams, loaded.path, environment, Path.cwd()),
        open_own_stdio(settings.limits.line_bytes) as channel,
    ):
        await serve_channel(limen.surface, limen.local, channel)
