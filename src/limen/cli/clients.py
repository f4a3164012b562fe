"""`limen client`: brings the servers of other programs into Limen, and Limen into those programs."""

from pathlib import Path
from typing import Annotated

import typer

from limen.cli.asking import confirm
from limen.cli.clientimport import Request, gather, plan_import
from limen.cli.clientinstall import Change, apply_install, apply_uninstall, find_place, plan_install, plan_uninstall
from limen.cli.clientviews import Outcome, place_row, show_change, show_places, show_plan, tell_change, tell_import
from limen.cli.invocation import Invocation
from limen.cli.loading import read_settings
from limen.cli.parameters import AsJson, ConfigFile, begin, example, new_app
from limen.cli.printable import printable
from limen.config.editing.files import keep, write_state
from limen.config.foreign.places import Place, Scope, find_places
from limen.errors import InvalidArguments

__all__ = ["app"]

app = new_app(summary="Bring servers in from other MCP clients, and Limen into them.")

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be changed, and change nothing.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
ClientName = Annotated[str, typer.Argument(metavar="NAME", help="A client, as `limen client list` names it.")]
ScopeName = Annotated[str, typer.Option("--scope", metavar="SCOPE", help="For this `user`, or for this `project`.")]


@app.command("list", epilog=example("limen client list"))
def list_clients(context: typer.Context, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Show the clients that are known, their files, and whether Limen is in them."""
    invocation = begin(context, config, as_json)
    port = read_settings(invocation).settings.server.port
    places = [place for place in find_places(invocation.environment, Path.cwd()) if place.client.shape is not None]
    rows = [place_row(place, port) for place in places]
    if invocation.output.is_json:
        invocation.output.data(rows)
    else:
        show_places(invocation, rows)


@app.command(
    "import",
    epilog=example(
        "limen client import --dry-run", "limen client import --from cursor --yes", "limen client import servers.json"
    ),
)
def import_servers(  # noqa: PLR0913 - one argument per option
    context: typer.Context,
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH]...", help="Files; without any, all known places.")
    ] = None,
    client: Annotated[str | None, typer.Option("--from", metavar="CLIENT", help="Whose servers to take.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also those of other projects.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Bring the servers of other programs into the settings.

    Reads `.mcp.json`, `servers.json`, `mcp_tools_config.json`, a `control_plane` file, and the files of the clients
    that `limen client list` shows. Variables stay as they are written, secrets are not copied, servers that are in the
    settings already are left alone, and nothing is started. Files that are named are imported without a question.
    """
    invocation = begin(context, config, as_json)
    loaded = read_settings(invocation)
    port = loaded.settings.server.port
    gathering = gather(Request(paths or [], client, everything, Path.cwd(), invocation.environment, port))
    plan = plan_import(gathering, loaded.path or loaded.paths.config_file)
    if not invocation.output.is_json:
        show_plan(invocation, gathering, plan)
    backup, refusal, is_written = None, None, False
    if plan.added and not dry_run:
        try:
            question = f"Add these to {printable(str(plan.state.path))}?"
            is_written = confirm(invocation, question, is_given=yes or bool(paths))
        except InvalidArguments as error:
            # Whoever reads along in a pipe still sees what was found.
            refusal = error
    if is_written:
        backup = None if plan.state.data is None else keep(plan.state, plan.text.encode(), is_copy=True)
        write_state(plan.state, plan.text.encode())
    tell_import(invocation, gathering, plan, Outcome(is_written, dry_run, backup))
    if refusal is not None:
        raise refusal
    if gathering.failures:
        raise typer.Exit(1)


@app.command(epilog=example("limen client install cursor --dry-run", "limen client install claude-code --yes"))
def install(  # noqa: PLR0913 - one argument per option
    context: typer.Context,
    name: ClientName,
    scope: ScopeName = "user",
    dry_run: DryRun = False,
    yes: Yes = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Put Limen into a client.

    By the client's own command when that is on the PATH, else in its file, where everything else stays as it is. What
    was there is kept beside it.
    """
    invocation = begin(context, config, as_json)
    place = _place(invocation, name, scope)
    change = plan_install(place, invocation.environment, read_settings(invocation).settings.server.port)
    title = place.client.title
    if change.is_nothing:
        tell_change(invocation, change, f"Limen is in {title} already: {place.path}")
    elif _is_wanted(invocation, change, f"Put Limen into {title}?", dry_run=dry_run, yes=yes):
        backup, failure = apply_install(change)
        _warn(invocation, place, failure)
        told = f"Limen is in {title} now; start it anew to see it"
        tell_change(invocation, change, told, backup=backup, is_done=True)


@app.command(epilog=example("limen client uninstall cursor --yes"))
def uninstall(  # noqa: PLR0913 - one argument per option
    context: typer.Context,
    name: ClientName,
    scope: ScopeName = "user",
    dry_run: DryRun = False,
    yes: Yes = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Take Limen out of a client.

    Its file becomes what it was, to the byte, when nobody has changed it since; else only Limen's entry goes.
    """
    invocation = begin(context, config, as_json)
    place = _place(invocation, name, scope)
    change = plan_uninstall(place, invocation.environment, read_settings(invocation).settings.server.port)
    title = place.client.title
    if change.is_nothing:
        tell_change(invocation, change, f"Limen is not in {title}: {place.path}")
    elif _is_wanted(invocation, change, f"Take Limen out of {title}?", dry_run=dry_run, yes=yes):
        _warn(invocation, place, apply_uninstall(change))
        tell_change(invocation, change, f"Limen is no longer in {title}", is_done=True)


def _place(invocation: Invocation, name: str, scope: str) -> Place:
    scopes: dict[str, Scope] = {"user": "user", "project": "project"}
    if scope not in scopes:
        raise InvalidArguments(f"--scope cannot be {scope!r}", fix="use `user` or `project`")
    return find_place(name, scopes[scope], invocation.environment, Path.cwd())


def _is_wanted(invocation: Invocation, change: Change, question: str, *, dry_run: bool, yes: bool) -> bool:
    """Show the change; whether it is to be made."""
    if invocation.output.is_json:
        if dry_run:
            tell_change(invocation, change, "")
    else:
        show_change(invocation, change)
    return not dry_run and confirm(invocation, question, is_given=yes)


def _warn(invocation: Invocation, place: Place, failure: str | None) -> None:
    if failure is not None:
        told = f"`{place.client.program}` could not do it, so its file was changed instead: {failure}"
        invocation.output.say(f"{invocation.output.paint('warning:', 'warn')} {printable(told)}")
