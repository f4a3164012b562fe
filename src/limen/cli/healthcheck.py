"""`limen healthcheck`: one question to the hub, answered by the exit code; for containers."""

import typer

from limen.cli.address import ask_health
from limen.cli.loading import load_settings
from limen.cli.overrides import override
from limen.cli.parameters import AsJson, ConfigFile, Host, Port, begin, example, new_app

__all__ = ["app"]

app = new_app()


@app.command(epilog=example("limen healthcheck && echo up"))
def healthcheck(
    context: typer.Context,
    host: Host = None,
    port: Port = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Ask the hub whether it is well: exit code 0, or 4.

    Prints nothing when it is.
    """
    settings = override(load_settings(begin(context, config, as_json)).settings, host=host, port=port)
    ask_health(settings.server)
