"""`limen serve` and `limen stdio`: start a hub, and tell people how their clients reach it."""

import json
import logging
import os
import shutil
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import typer

from limen.app import Limen
from limen.cli.attaching import settings_name
from limen.cli.invocation import Invocation
from limen.cli.loading import load_settings, tell_problems
from limen.cli.loop import run_async
from limen.cli.options import CONFIG, TIER, TOOLSETS
from limen.cli.output import Output
from limen.cli.overrides import override
from limen.cli.parameters import (
    AsJson,
    ConfigFile,
    Host,
    NoAttach,
    Port,
    TierName,
    ToolsetNames,
    begin,
    example,
    new_app,
)
from limen.cli.stdio import serve_stdio
from limen.config.load import Loaded
from limen.reloading import following_settings
from limen.server.http import Identify
from limen.server.nearby import SOCKET, NearbyDoor
from limen.serving import run_http
from limen.transport.local import open_local_door
from limen.web.door import RestDoor
from limen.web.metrics import METRICS_PATH, MetricsDoor, gauges_of

__all__ = ["app"]

log = logging.getLogger(__name__)

app = new_app()


@app.command(epilog=example("limen serve", "limen serve --port 9000 --tier write"))
def serve(  # noqa: PLR0913 - one argument per option
    context: typer.Context,
    host: Host = None,
    port: Port = None,
    tier: TierName = None,
    toolsets: ToolsetNames = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Serve MCP clients over HTTP.

    Runs until it is told to stop (Ctrl-C, SIGTERM). When it is ready it prints its address and the lines to paste
    into a client.
    """
    invocation = begin(context, config, as_json)
    loaded = load_settings(invocation)
    tell_problems(invocation, loaded)
    settings = override(loaded.settings, host=host, port=port, tier=tier, toolsets=toolsets)
    given = {TIER.flag: tier, TOOLSETS.flag: toolsets}
    entry = _stdio_entry(invocation, loaded, {flag: value for flag, value in given.items() if value})
    run_async(
        run_http(
            settings,
            loaded.paths,
            lambda url: _announce(invocation.output, url, entry, settings.tier),
            _doors,
            lambda limen: _beside(limen, loaded, invocation),
        )
    )


@app.command(epilog=example("claude mcp add limen -- limen stdio", "limen stdio --tier write"))
def stdio(  # noqa: PLR0913 - one argument per option
    context: typer.Context,
    tier: TierName = None,
    toolsets: ToolsetNames = None,
    no_attach: NoAttach = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Serve one MCP client on stdin and stdout.

    This is what a client starts; it ends when the client closes its end. When `limen serve` runs with the same
    settings, the client is served by that one, so that all clients share its servers.
    """
    invocation = begin(context, config, as_json)
    serve_stdio(invocation, tier=tier, toolsets=toolsets, attaches=not no_attach)


def _doors(limen: Limen, identify: Identify) -> RestDoor:
    metrics = MetricsDoor(limen.pipeline.meter, lambda: gauges_of(limen), identify)
    return RestDoor(limen.pipeline, identify, {METRICS_PATH: metrics})


@asynccontextmanager
async def _beside(limen: Limen, loaded: Loaded, invocation: Invocation) -> AsyncGenerator[None]:
    """What a hub does beside serving HTTP: it follows its settings, and serves clients of `limen stdio`."""
    door = NearbyDoor(limen.surface, limen.local, limen.settings.toolsets, settings_name(loaded.path))
    async with (
        following_settings(limen.upstreams, loaded.path, invocation.environment, Path.cwd()),
        open_local_door(loaded.paths.runtime_dir / SOCKET, limen.settings.limits.line_bytes, door.serve) as is_open,
    ):
        if not is_open:
            log.info("clients of `limen stdio` are not served here")
        yield


def _announce(output: Output, url: str, stdio_entry: Mapping[str, object], tier: str) -> None:
    endpoint = url.rstrip("/") + "/mcp"
    output.say(f"Limen is ready at {output.paint(endpoint, 'strong')} (Ctrl-C stops it)")
    output.say()
    output.say("Claude Code:")
    output.say(f"  claude mcp add --transport http limen {endpoint}")
    output.say()
    output.say("Other clients, over HTTP:")
    output.say(_block({"type": "http", "url": endpoint}))
    output.say()
    output.say("Other clients, over stdio:")
    output.say(_block(stdio_entry))
    if tier == "read":
        output.say()
        output.say("Clients may only read. To let them remember too, set `tier: write` or add `--tier write`.")
    if output.is_json:
        output.data({"url": endpoint, "pid": os.getpid()})


def _block(entry: Mapping[str, object]) -> str:
    """What goes into a client's settings, indented to stand out."""
    inner = ",\n".join(f'        "{key}": {json.dumps(value, ensure_ascii=False)}' for key, value in entry.items())
    return f'  {{\n    "mcpServers": {{\n      "limen": {{\n{inner}\n      }}\n    }}\n  }}'


def _stdio_entry(invocation: Invocation, loaded: Loaded, given: Mapping[str, str]) -> dict[str, object]:
    """The same hub for a client that starts it by itself, from any folder and without this shell's variables."""
    args = ["stdio", *(word for option in given.items() for word in option)]
    if loaded.path is not None and loaded.path != loaded.paths.config_file:
        args += [CONFIG.flag, str(loaded.path.absolute())]
    entry: dict[str, object] = {"command": _own_path(), "args": args}
    home = invocation.environment.get("LIMEN_HOME")
    if home:
        entry["env"] = {"LIMEN_HOME": str(Path(home).absolute())}
    return entry


def _own_path() -> str:
    found = shutil.which(sys.argv[0])
    return str(Path(found).absolute()) if found else "limen"
