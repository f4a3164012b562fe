"""`limen mcp tokens`: what the definitions of each server cost a client, and what search mode would save."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from limen.calls.call import Capability
from limen.cli.invocation import Invocation
from limen.cli.loop import run_async
from limen.cli.mcp.reaching import Hub, open_hub
from limen.cli.parameters import AsJson, ConfigFile, begin
from limen.cli.printable import printable
from limen.cli.table import Column, Table
from limen.errors import LimenError
from limen.gateway.costs import definition_tokens
from limen.gateway.upstream import Upstream
from limen.toolsets.finding import Finding

__all__ = ["tokens"]

_COLUMNS = (
    Column("SERVER", "server", tone="strong"),
    Column("TOOLS", "tools", align="right"),
    Column("TOKENS", "tokens", align="right"),
    Column("BIGGEST", "biggest", wraps=True, tone="quiet"),
)


@dataclass(frozen=True, slots=True)
class _Report:
    costs: list[dict[str, Any]]
    searching: int
    """What a client pays in search mode: for what is Limen's own, the two tools that search, and the favourites."""
    unknown: dict[str, str]
    """Servers that could not be asked, and why."""


def tokens(
    context: typer.Context,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="How long to wait for servers not met before.")
    ] = 20.0,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Tell what tool definitions cost a client.

    Every conversation pays for the definitions of all tools that are offered in it. The figures are estimates of what
    a client hands to its model: name, description and input schema.
    """
    invocation = begin(context, config, as_json)
    report = run_async(_report(invocation, timeout))
    total = sum(row["tokens"] for row in report.costs)
    saved = max(0, total - report.searching)
    output = invocation.output
    if output.is_json:
        search = {"tokens": report.searching, "saved": saved}
        output.data({"servers": report.costs, "total": total, "search_mode": search, "unknown": report.unknown})
        return
    output.show(Table(_COLUMNS, report.costs))
    output.say(f"In all about {total:,} tokens in every conversation.")
    if saved:
        share = f"{saved / total:.0%}"
        output.say(f"In search mode (`expose.mode: search`) about {report.searching:,}: {share} less.")
    for name, reason in report.unknown.items():
        output.say(f"{output.paint(f'{name}:', 'warn')} {printable(f'not counted: {reason}')}")


async def _report(invocation: Invocation, timeout_s: float) -> _Report:
    async with open_hub(invocation) as hub:
        unknown = await _learn(hub, timeout_s)
        by_source: dict[str, list[Capability]] = defaultdict(list)
        for capability in await hub.limen.pipeline.list("tool", hub.limen.local):
            by_source[capability.source].append(capability)
        costs = [_cost(source, found) for source, found in by_source.items()]
        own = sum(row["tokens"] for row in costs if row["server"] not in hub.loaded.settings.servers)
        costs.sort(key=lambda row: -row["tokens"])
        return _Report(costs, own + await _search_cost(hub), unknown)


async def _search_cost(hub: Hub) -> int:
    """What stands for the tools of all servers in search mode."""
    finding = Finding(hub.loaded.settings.expose.favourites, "none")
    favourites = await finding.cover(hub.limen.upstreams).list("tool")
    shown = [*await finding.toolset.list("tool"), *favourites]
    return sum(definition_tokens(tool.definition) for tool in shown)


async def _learn(hub: Hub, timeout_s: float) -> dict[str, str]:
    """Ask the servers that nothing is known of, all at once; those that do not answer, with the reason."""
    failed: dict[str, str] = {}

    async def ask(upstream: Upstream) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await upstream.discovered()
        except TimeoutError:
            failed[upstream.name] = f"no answer within {timeout_s:g} s"
        except LimenError as error:
            failed[upstream.name] = str(error)

    if hub.limen.gateway is not None:
        async with asyncio.TaskGroup() as group:
            for status in hub.gateway.status():
                group.create_task(ask(hub.gateway.get(status.name)))
    return failed


def _cost(source: str, found: list[Capability]) -> dict[str, Any]:
    costs = {capability.name: definition_tokens(capability.definition) for capability in found}
    biggest = max(costs, key=lambda name: costs[name])
    return {
        "server": source,
        "tools": len(found),
        "tokens": sum(costs.values()),
        "biggest": f"{biggest} ({costs[biggest]})",
    }
