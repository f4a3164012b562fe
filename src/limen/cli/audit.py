"""`limen audit`: proves that the audit trail is whole, or names the first row that is not."""

import typer

from limen.cli.loading import load_settings
from limen.cli.parameters import AsJson, ConfigFile, begin, example, new_app
from limen.cli.table import Column, Table
from limen.errors import AuditBroken
from limen.governance.auditlog import AuditLog

__all__ = ["app"]

app = new_app(summary="Prove that the audit trail was not changed.")


@app.callback()
def audit() -> None:
    """Makes `verify` a command of its own although it is the only one."""


@app.command(epilog=example("limen audit verify", "limen audit verify --json | jq -r .head"))
def verify(context: typer.Context, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Walk the whole chain of rows and compare every hash.

    The head it prints pins everything up to it: noted elsewhere, it proves later that nothing before was changed.
    """
    output = (invocation := begin(context, config, as_json)).output
    report = AuditLog(load_settings(invocation).paths.state_dir / "hub.db").verify()
    if not report.ok:
        raise AuditBroken(
            f"audit row {report.first_bad_seq}: {report.reason}; {report.rows} rows before it are sound",
            seq=report.first_bad_seq,
            rows=report.rows,
            reason=report.reason,
        )
    if output.is_json:
        output.data({"ok": True, "rows": report.rows, "head": report.head})
    else:
        columns = (Column("", "mark", tone="ok"), Column("", "told", wraps=True))
        told = [f"{report.rows} rows, all as they were written", f"head {report.head}"]
        output.show(Table(columns, [{"mark": "ok", "told": told[0]}, {"told": told[1]}], has_header=False))
