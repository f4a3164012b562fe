"""`limen status`: whether a hub runs where the settings say, and where everything is kept."""

from collections.abc import Mapping
from typing import Any

import typer

from limen.cli.address import ask_health, base_url
from limen.cli.loading import load_settings
from limen.cli.parameters import AsJson, ConfigFile, begin, example, new_app
from limen.cli.table import Column, Table
from limen.config.load import Loaded
from limen.errors import Unreachable
from limen.governance.auditlog import AuditLog, LogFilter
from limen.shapes import is_array

__all__ = ["app"]

app = new_app()

_TOLD_BY_HUB = ("version", "uptime_s", "sessions")


@app.command(epilog=example("limen status", "limen status --json | jq .url"))
def status(context: typer.Context, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Tell whether the hub is running, and where everything is.

    Ends with exit code 4 when no hub answers.
    """
    output = (invocation := begin(context, config, as_json)).output
    loaded = load_settings(invocation)
    answer: Mapping[str, Any] = {}
    absent: Unreachable | None = None
    try:
        answer = ask_health(loaded.settings.server)
    except Unreachable as error:
        absent = error
    # Whatever answers there, it gets to fill in these and nothing else.
    told = {name: answer[name] for name in _TOLD_BY_HUB if name in answer}
    facts = {"running": absent is None, "url": base_url(loaded.settings.server) + "/mcp", **told, **_local(loaded)}
    if output.is_json:
        output.data(facts)
    else:
        rows = [{"name": name.replace("_", " "), "value": _shown(value)} for name, value in facts.items()]
        output.show(Table((Column("", "name", tone="quiet"), Column("", "value", wraps=True)), rows, has_header=False))
    if absent is not None:
        raise absent


def _local(loaded: Loaded) -> dict[str, Any]:
    """What is known without asking the hub."""
    last = AuditLog(loaded.paths.state_dir / "hub.db").list(LogFilter(limit=1))
    return {
        "last_call": last[0].at if last else None,
        "config": str(loaded.path) if loaded.path else None,
        "state": str(loaded.paths.state_dir),
        "disabled_servers": list(loaded.disabled),
    }


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if is_array(value):
        return ", ".join(str(item) for item in value) or "none"
    return "none" if value is None else str(value)
