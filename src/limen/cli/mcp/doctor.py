"""`limen mcp doctor`: tries every server, or one, and tells what is wrong and how to mend it."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from limen.cli.checks import Finding
from limen.cli.invocation import Invocation
from limen.cli.loop import run_async
from limen.cli.mcp.examining import examine_server, server_names
from limen.cli.mcp.reaching import open_hub
from limen.cli.parameters import AsJson, ConfigFile, begin
from limen.cli.table import Column, Table
from limen.errors import NotFound

__all__ = ["doctor"]

_COLUMNS = (
    Column("", "mark", width=4, tones={"ok": "ok", "warn": "warn", "fail": "fail"}),
    Column("", "check", width=10, tone="strong"),
    Column("", "told", wraps=True),
)


def doctor(
    context: typer.Context,
    server: Annotated[str | None, typer.Argument(metavar="[SERVER]", help="Only this one.")] = None,
    timeout: Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="How long to wait for each.")] = 30.0,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Try the servers, and tell what is wrong.

    Whether its command is there, whether it starts and shakes hands, which revision it speaks, what it offers, what it
    wrote to stderr. Ends with exit code 1 when a line says fail.
    """
    invocation = begin(context, config, as_json)
    output = invocation.output
    found = run_async(_examine(invocation, server, timeout))
    if not found and not output.is_json:
        output.say("No server is configured. `limen mcp add` and `limen client import` bring some in.")
    for name, findings in found.items():
        if output.is_json:
            for finding in findings:
                output.data({"server": name, **asdict(finding)})
            continue
        output.say(output.paint(name, "strong"))
        output.show(Table(_COLUMNS, _rows(findings), has_header=False))
    if any(finding.mark == "fail" for findings in found.values() for finding in findings):
        raise typer.Exit(1)


async def _examine(invocation: Invocation, server: str | None, timeout_s: float) -> dict[str, list[Finding]]:
    async with open_hub(invocation, tells_servers=False) as hub:
        names = server_names(hub.loaded)
        if server is not None and server not in names:
            raise NotFound(f"no server {server!r} is configured", fix="limen mcp servers")
        wanted = names if server is None else [server]
        if hub.invocation.output.is_watched:
            hub.invocation.output.tick(f"trying {', '.join(wanted)}")
        async with asyncio.TaskGroup() as group:
            asked = {name: group.create_task(examine_server(hub, name, timeout_s)) for name in wanted}
        return {name: task.result() for name, task in asked.items()}


def _rows(findings: Sequence[Finding]) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = []
    for finding in findings:
        first, *more = finding.told.split("\n")
        rows.append({"mark": finding.mark, "check": finding.check, "told": first})
        rows += [{"told": line} for line in more]
        if finding.fix:
            rows.append({"told": f"fix: {finding.fix}"})
    return rows
