"""`limen logs`: the audit trail as a table or as JSON lines, filtered, and followed as it grows."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any

import msgspec
import typer

from limen.cli.invocation import Invocation
from limen.cli.loading import load_settings
from limen.cli.loop import run_async
from limen.cli.parameters import AsJson, ConfigFile, begin, example, new_app
from limen.cli.table import Column, Table
from limen.clock import now_ms, parse_duration_s
from limen.errors import InvalidArguments
from limen.governance.auditlog import AuditLog, LogFilter, LogLine

__all__ = ["app"]

app = new_app()

_PATTERN = "may hold * and ?"
_COLUMNS = (
    Column("TIME", "time", width=11, tone="quiet"),
    Column(
        "STATUS",
        "status",
        width=10,
        tones={
            "ok": "ok",
            "running": "strong",
            "input_required": "strong",
            "cancelled": "warn",
            "unfinished": "warn",
            "not_found": "warn",
            "denied": "fail",
            "error": "fail",
            "tool_error": "fail",
        },
    ),
    Column("MS", "ms", width=7, align="right"),
    Column("IDENTITY", "subject", width=16, is_extra=True),
    Column("METHOD", "method", width=14),
    Column("SERVER", "server", width=8),
    Column("NAME", "name", fills=True),
    Column("CODE", "code", width=18, is_extra=True),
)


@app.command(epilog=example("limen logs --errors --since 7d", "limen logs -f --tool 'search_*' | jq .duration_ms"))
def logs(  # noqa: PLR0913 - one argument per option
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="At most so many calls.")] = 20,
    server: Annotated[str, typer.Option(metavar="S", help=f"Served by this toolset or upstream; {_PATTERN}.")] = "",
    tool: Annotated[str, typer.Option(metavar="T", help=f"This tool, prompt or resource; {_PATTERN}.")] = "",
    method: Annotated[str, typer.Option(metavar="M", help=f"This MCP method; {_PATTERN}.")] = "",
    identity: Annotated[str, typer.Option(metavar="I", help=f"Called by this identity; {_PATTERN}.")] = "",
    errors: Annotated[bool, typer.Option("--errors", help="Only what went wrong or was refused.")] = False,
    since: Annotated[str, typer.Option(metavar="WHEN", help="Not older than 90s, 5m, 1h, 7d, or since a date.")] = "",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on and show calls as they come.")] = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Show the calls that were made, the latest last."""
    invocation = begin(context, config, as_json)
    trail = AuditLog(load_settings(invocation).paths.state_dir / "hub.db")
    filters = LogFilter(
        limit=limit,
        server=server,
        tool=tool,
        method=method,
        identity=identity,
        errors_only=errors,
        since_ms=_since_ms(since) if since else None,
    )
    if follow:
        run_async(_follow(invocation, trail, filters))
    else:
        _show(invocation, trail.list(filters)[::-1])


def _since_ms(text: str) -> int:
    try:
        return max(0, now_ms() - int(parse_duration_s(text) * 1000))
    except ValueError:
        pass
    try:
        return max(0, int(datetime.fromisoformat(text).astimezone().timestamp() * 1000))
    except (ValueError, OverflowError):
        raise InvalidArguments(
            f"--since: {text!r} is neither a duration nor a date",
            field="since",
            fix="write 90s, 5m, 1h, 7d, 2026-01-31 or 2026-01-31T14:00",
        ) from None


async def _follow(invocation: Invocation, trail: AuditLog, filters: LogFilter) -> None:
    output = invocation.output
    if not output.is_json:
        output.show(Table(_COLUMNS, []))
    async for line in trail.follow(filters):
        if output.is_json:
            output.data(msgspec.to_builtins(line))
        else:
            output.show(Table(_COLUMNS, [_row(line)], has_header=False))


def _show(invocation: Invocation, lines: Iterable[LogLine]) -> None:
    output = invocation.output
    if output.is_json:
        for line in lines:
            output.data(msgspec.to_builtins(line))
        return
    rows = [_row(line) for line in lines]
    if rows:
        output.show(Table(_COLUMNS, rows))
    else:
        output.say("no calls to show")


def _row(line: LogLine) -> dict[str, Any]:
    ms = "" if line.phase == "intent" else f"{line.duration_ms:.1f}"
    return {**msgspec.to_builtins(line), "time": _local_time(line.at), "ms": ms}


def _local_time(at: str) -> str:
    """The time of day, and for another day its date instead of the seconds, on this machine's clock."""
    moment = datetime.fromisoformat(at).astimezone()
    is_today = moment.date() == datetime.now().astimezone().date()
    return moment.strftime("%H:%M:%S" if is_today else "%m-%d %H:%M")
