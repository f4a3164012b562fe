"""`limen mcp servers|discover`: which servers there are and how they are, and what one of them offers."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import typer

from limen.calls.changes import ListedKind
from limen.cli.invocation import Invocation
from limen.cli.loop import run_async
from limen.cli.mcp.calls import ServerName
from limen.cli.mcp.reaching import Hub, open_hub
from limen.cli.parameters import AsJson, ConfigFile, begin
from limen.cli.printable import printable
from limen.cli.table import Column, Table
from limen.errors import LimenError
from limen.gateway.definitions import LISTS
from limen.gateway.gateway import ServerStatus
from limen.redact import redact_text
from limen.shapes import items_of, object_of

__all__ = ["discover", "servers"]

_COLUMNS = (
    Column("SERVER", "name", tone="strong"),
    Column(
        "STATE",
        "state",
        tones={"ready": "ok", "failed": "fail", "blocked": "fail", "disabled": "quiet", "idle": "quiet"},
    ),
    Column("TRANSPORT", "transport"),
    Column("TOOLS", "tools", align="right"),
    Column("SPEAKS", "protocol", is_extra=True),
    Column("REASON", "reason", wraps=True),
)


@dataclass(frozen=True, slots=True)
class _Row:
    """One server, for people and programs."""

    name: str
    state: str
    transport: str = ""
    tools: int | None = None
    protocol: str = ""
    server: str = ""
    reason: str = ""
    """Why it cannot be used, when it cannot: switched off, badly written, or what went wrong the last time."""
    last_error: str = ""
    warnings: Sequence[str] = ()


def servers(
    context: typer.Context,
    connects: Annotated[bool, typer.Option("--connect", help="Try each of them now, all at once.")] = False,
    timeout: Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="How long to wait for each.")] = 20.0,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Show the servers, and how they are.

    State, transport, tools, and the reason when one cannot be used. Starts none of them without --connect; then `tools`
    is what was there when each was last asked. A server that fails is a line with its reason, and not a failure of this
    command.
    """
    invocation = begin(context, config, as_json)
    rows = run_async(_rows(invocation, timeout if connects else None))
    if invocation.output.is_json:
        invocation.output.data([_plain(row) for row in rows])
        return
    if not rows:
        invocation.output.say("No server is configured. `limen mcp add` and `limen client import` bring some in.")
        return
    invocation.output.show(Table(_COLUMNS, [_plain(row) for row in rows]))
    for row in rows:
        for warning in row.warnings:
            invocation.output.say(f"{invocation.output.paint(f'{row.name}:', 'warn')} {printable(warning)}")


async def _rows(invocation: Invocation, timeout_s: float | None) -> list[_Row]:
    async with open_hub(invocation, tells_servers=False) as hub:
        if timeout_s is not None and hub.limen.gateway is not None:
            async with asyncio.TaskGroup() as group:
                for status in hub.gateway.status():
                    group.create_task(_try(hub, status.name, timeout_s))
        known = {} if hub.limen.gateway is None else {status.name: status for status in hub.gateway.status()}
        return list(_all(hub, known))


async def _try(hub: Hub, server: str, timeout_s: float) -> None:
    """Ask one server for what it offers; what goes wrong is in its status afterwards."""
    upstream = hub.gateway.get(server)
    try:
        async with asyncio.timeout(timeout_s):
            await upstream.refresh()
    except TimeoutError:
        upstream.last_error = upstream.last_error or f"no answer within {timeout_s:g} s"
    except LimenError as error:
        upstream.last_error = upstream.last_error or str(error)


def _all(hub: Hub, known: Mapping[str, ServerStatus]) -> Iterator[_Row]:
    for name, entry in hub.loaded.settings.servers.items():
        status = known.get(name)
        if status is None:
            yield _Row(name, "disabled", entry.kind, reason=f"switched off; `limen mcp update {name} --enable`")
            continue
        yield _Row(
            name=name,
            state="failed" if status.reason and status.state != "ready" else status.state,
            transport=entry.kind,
            tools=status.tools if status.version else None,
            protocol=status.version,
            server=status.server,
            reason=redact_text(status.reason),
            last_error=redact_text(status.reason),
            warnings=status.warnings,
        )
    for name, reason in hub.loaded.disabled.items():
        yield _Row(name, "blocked", reason=redact_text(reason))


def _plain(row: _Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "state": row.state,
        "transport": row.transport or None,
        "tools": row.tools,
        "protocol": row.protocol or None,
        "server": row.server or None,
        "reason": row.reason or None,
        "last_error": row.last_error or None,
        "warnings": list(row.warnings),
    }


def discover(context: typer.Context, server: ServerName, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """List what a server offers.

    Connects to it, and asks for its tools, resources, templates and prompts.
    """
    invocation = begin(context, config, as_json)
    found = run_async(_discover(invocation, server))
    if invocation.output.is_json:
        invocation.output.data(found)
        return
    output = invocation.output
    output.say(printable(f"{server}: {found['server'] or 'without a name'}, MCP {found['protocol']}"))
    for title, key, columns in _VIEWS:
        if found[key]:
            output.say()
            output.show(Table((Column(title, "label", tone="strong"), *columns), [_seen(item) for item in found[key]]))
    if not any(found[key] for _, key, _ in _VIEWS):
        output.say("It offers nothing.")
    for warning in found["warnings"]:
        output.say(f"{output.paint('warning:', 'warn')} {printable(warning)}")


async def _discover(invocation: Invocation, server: str) -> dict[str, Any]:
    async with open_hub(invocation) as hub:
        upstream = hub.get(server)
        definitions = await upstream.refresh()
        status = next(status for status in hub.gateway.status() if status.name == server)
        return {
            "name": server,
            "server": definitions.server,
            "protocol": definitions.version,
            "instructions": definitions.instructions or None,
            **{LISTS[kind][1]: _listed(hub, server, kind) for kind in LISTS},
            "warnings": list(status.warnings),
        }


def _listed(hub: Hub, server: str, kind: ListedKind) -> list[dict[str, Any]]:
    """Every item as its server wrote it, and the name clients know it by: none when the settings hide it."""
    upstream = hub.gateway.get(server)
    exposed = {route.name: route.capability.name for route in hub.gateway.routes_of(server, kind)}
    items = upstream.definitions.of(kind) if upstream.definitions else ()
    return [
        {**msgspec.json.decode(item.definition, type=dict[str, Any]), "exposed": exposed.get(item.name)}
        for item in items
    ]


_ABOUT = Column("", "description", wraps=True)
_VIEWS: tuple[tuple[str, str, tuple[Column, ...]], ...] = (
    ("TOOL", "tools", (Column("ARGUMENTS", "arguments", wraps=True, tone="quiet"), _ABOUT)),
    ("RESOURCE", "resources", (Column("NAME", "name"), _ABOUT)),
    ("TEMPLATE", "resourceTemplates", (Column("NAME", "name"), _ABOUT)),
    ("PROMPT", "prompts", (Column("ARGUMENTS", "arguments", wraps=True, tone="quiet"), _ABOUT)),
)


def _seen(item: Mapping[str, Any]) -> dict[str, Any]:
    own = item.get("uri") or item.get("uriTemplate") or item.get("name")
    about = str(item.get("description") or "").strip().partition("\n")[0]
    return {
        "label": own if item["exposed"] else f"{own} (hidden)",
        "name": item.get("title") or item.get("name"),
        "arguments": ", ".join(_arguments(item)),
        "description": about,
    }


def _arguments(item: Mapping[str, Any]) -> Iterator[str]:
    schema = object_of(item.get("inputSchema"))
    required = items_of(schema.get("required"))
    for name, field in object_of(schema.get("properties")).items():
        kind = object_of(field).get("type")
        mark = "" if name in required else "?"
        yield f"{name}{mark}: {kind}" if isinstance(kind, str) else f"{name}{mark}"
    for argument in map(object_of, items_of(item.get("arguments"))):
        yield f"{argument.get('name')}{'' if argument.get('required') else '?'}"
