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
from limen.gateway.costs import SEARCH_MODE_TOKENS, definition_tokens
from limen.gateway.upstream import Upstream

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
    saved = max(0, total - SEARCH_MODE_TOKENS)
    output = invocation.output
    if output.is_json:
        search = {"tokens": min(total, SEARCH_MODE_TOKENS), "saved": saved}
        output.data({"servers": report.costs, "total": total, "search_mode": search, "unknown": report.unknown})
        return
    output.show(Table(_COLUMNS, report.costs))
    output.say(f"In all about {total:,} tokens in every conversation.")
    if saved:
        share = f"{saved / total:.0%}"
        output.say(f"Search mode (`expose.mode: search`) would cost about {SEARCH_MODE_TOKENS} and save {share}.")
    for name, reason in report.unknown.items():
        output.say(f"{output.paint(f'{name}:', 'warn')} {printable(f'not counted: {reason}')}")


async def _report(invocation: Invocation, timeout_s: float) -> _Report:
    async with open_hub(invocation) as hub:
        unknown = await _learn(hub, timeout_s)
        by_source: dict[str, list[Capability]] = defaultdict(list)
        for capability in await hub.limen.pipeline.list("tool", hub.limen.local):
            by_source[capability.source].append(capability)
        costs = [_cost(source, found) for source, found in by_source.items()]
        return _Report(sorted(costs, key=lambda row: -row["tokens"]), unknown)


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
