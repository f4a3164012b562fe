"""`limen stdio` without typer: serves one client on stdin and stdout, and writes nothing else there."""

import sys
from collections.abc import Mapping
from pathlib import Path

from limen.app import run_stdio
from limen.cli.invocation import Invocation
from limen.cli.loading import load_settings, tell_problems
from limen.cli.loop import run_async
from limen.cli.overrides import override

__all__ = ["run_quick", "serve_stdio"]


def run_quick(options: Mapping[str, str], environment: Mapping[str, str]) -> int:
    """Serve with options that `read_options` has read; returns the exit code."""
    config = options.get("config")
    invocation = Invocation(environment, Path(config) if config else None, as_json="json" in options)
    serve_stdio(invocation, tier=options.get("tier"), toolsets=options.get("toolsets"))
    return 0


def serve_stdio(invocation: Invocation, *, tier: str | None, toolsets: str | None) -> None:
    """Serve until the client leaves."""
    loaded = load_settings(invocation)
    tell_problems(invocation, loaded)
    if sys.stdin.isatty():
        invocation.output.say("waiting for an MCP client to speak JSON-RPC here; Ctrl-D ends it")
    settings = override(loaded.settings, tier=tier, toolsets=toolsets)
    run_async(run_stdio(settings, loaded.paths))
