"""`limen doctor`: asks every question of `checks`, one line each with its fix."""

from dataclasses import asdict
from typing import Annotated

import typer

from limen.cli.checks import examine
from limen.cli.loading import read_settings
from limen.cli.parameters import AsJson, ConfigFile, begin, example, new_app
from limen.cli.table import Column, Table

__all__ = ["app"]

app = new_app()

_COLUMNS = (
    Column("", "mark", width=4, tones={"ok": "ok", "warn": "warn", "fail": "fail"}),
    Column("", "check", width=10, tone="strong"),
    Column("", "told", wraps=True),
)


@app.command(epilog=example("limen doctor", "limen doctor --deep --json | jq 'select(.mark != \"ok\")'"))
def doctor(
    context: typer.Context,
    deep: Annotated[bool, typer.Option("--deep", help="Verify the whole audit trail, however long.")] = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Check this machine, and tell the fix for what is wrong.

    Ends with exit code 1 when a line says fail.
    """
    output = (invocation := begin(context, config, as_json)).output
    failed = 0
    for finding in examine(read_settings(invocation), deep=deep):
        failed += finding.mark == "fail"
        if output.is_json:
            output.data(asdict(finding))
            continue
        rows = [asdict(finding)]
        if finding.fix:
            rows.append({"told": f"fix: {finding.fix}"})
        output.show(Table(_COLUMNS, rows, has_header=False))
    if failed:
        raise typer.Exit(1)
