"""`limen mcp add|remove|update`: one server in the settings file changed, every other line of it kept."""

from typing import Annotated, Any

import typer

from limen.cli.diffs import diff
from limen.cli.invocation import Invocation
from limen.cli.mcp.calls import ServerName
from limen.cli.mcp.entries import Edit, open_settings, pairs, unset_names
from limen.cli.parameters import AsJson, ConfigFile, begin
from limen.cli.printable import printable
from limen.config.editing.files import write_state
from limen.config.variables import hide_literals
from limen.errors import InvalidArguments
from limen.redact import MASK, redact_value
from limen.shapes import is_object

__all__ = ["DryRun", "add", "apply", "remove", "update"]

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be changed, and change nothing.")]
Command = Annotated[
    list[str] | None, typer.Argument(metavar="[-- COMMAND [ARG]...]", help="A program that speaks MCP on stdio.")
]
Url = Annotated[str | None, typer.Option("--url", metavar="URL", help="Address of a server over HTTP.")]
Header = Annotated[
    list[str] | None, typer.Option("--header", metavar="NAME=VALUE", help="Sent with every request; may repeat.")
]
Variable = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="NAME[=VALUE]", help="Given to the program; NAME alone passes ${NAME} on."),
]
Cwd = Annotated[str | None, typer.Option("--cwd", metavar="FOLDER", help="Folder the program is started in.")]
Tag = Annotated[list[str] | None, typer.Option("--tag", help="Tag of all its tools; may repeat.")]
Expose = Annotated[str | None, typer.Option("--expose", help="prefixed or bare.")]
Timeout = Annotated[str | None, typer.Option("--timeout", help="Time one call may take, such as 90s.")]
Transport = Annotated[str | None, typer.Option("--transport", help="For a URL: auto, http or sse.")]


def add(  # noqa: PLR0913 - one argument per option
    context: typer.Context,
    server: Annotated[str, typer.Argument(metavar="NAME", help="What to call it.")],
    command: Command = None,
    url: Url = None,
    header: Header = None,
    env: Variable = None,
    cwd: Cwd = None,
    tag: Tag = None,
    expose: Expose = None,
    timeout: Timeout = None,
    transport: Transport = None,
    cli: Annotated[bool, typer.Option("--cli", help="Any program: its help text becomes tools.")] = False,
    disabled: Annotated[bool, typer.Option("--disabled", help="Put it in, switched off.")] = False,
    dry_run: DryRun = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Put a server into the settings.

    A program, or an address with --url. Everything after `--` is the program and its arguments; no shell reads them.
    Nothing is started.
    """
    invocation = begin(context, config, as_json)
    if bool(command) == bool(url):
        raise InvalidArguments(
            "give a program after `--`, or --url, and not both",
            fix=f"limen mcp add {printable(server)} -- COMMAND, or limen mcp add {printable(server)} --url URL",
        )
    entry = _fields(command, url, header, env, cwd, tag, expose, timeout, transport)
    entry |= ({"cli": True} if cli else {}) | ({"enabled": False} if disabled else {})
    apply(invocation, open_settings(invocation).add(server, entry), f"Added {server}", dry_run=dry_run)


def update(  # noqa: PLR0913 - one argument per option
    context: typer.Context,
    server: ServerName,
    command: Command = None,
    url: Url = None,
    header: Header = None,
    env: Variable = None,
    cwd: Cwd = None,
    tag: Tag = None,
    expose: Expose = None,
    timeout: Timeout = None,
    transport: Transport = None,
    enable: Annotated[bool | None, typer.Option("--enable/--disable", help="Switch it on or off.")] = None,
    dry_run: DryRun = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Change a server in the settings.

    What is not named stays as it is. Headers and variables that are named join those that are there.
    """
    invocation = begin(context, config, as_json)
    if command and url:
        raise InvalidArguments("give a program after `--`, or --url, and not both")
    settings = open_settings(invocation)
    changes = _fields(command, url, header, env, cwd, tag, expose, timeout, transport)
    if not changes and enable is None:
        raise InvalidArguments("nothing to change was named", fix="limen mcp update --help")
    present = settings.find(server) or {}
    for key in ("env", "headers"):
        held = present.get(key)
        if key in changes and is_object(held):
            changes[key] = {**held, **changes[key]}
    if command:
        # What belongs to the way it was reached before goes with it.
        changes = {"args": None, "url": None, "headers": None, "transport": None, **changes}
    elif url:
        changes = {"command": None, "args": None, "env": None, "cwd": None, "cli": None, **changes}
    if enable is not None:
        changes["enabled"] = enable
    wanted = {key: value for key, value in changes.items() if value is not None or key in present}
    apply(invocation, settings.update(server, wanted), f"Changed {server}", dry_run=dry_run)


def remove(
    context: typer.Context,
    server: ServerName,
    dry_run: DryRun = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Take a server out of the settings."""
    invocation = begin(context, config, as_json)
    apply(invocation, open_settings(invocation).remove(server), f"Removed {server}", dry_run=dry_run)


def apply(invocation: Invocation, edit: Edit, told: str, *, dry_run: bool) -> None:
    """Write an edit, or only show it, and say what became of it."""
    output, file = invocation.output, str(edit.state.path)
    is_changed = edit.text != edit.state.text
    if is_changed and not dry_run:
        write_state(edit.state, edit.text.encode())
    change = diff(edit.state.text, edit.text, file)
    unset = [] if edit.entry is None else unset_names(edit.entry, invocation.environment)
    if output.is_json:
        shown = None if edit.entry is None else {key: _masked(value) for key, value in edit.entry.items()}
        row: dict[str, Any] = {"file": file, "server": edit.name, "written": is_changed and not dry_run}
        output.data({**row, "entry": shown, "unset": unset, **({"diff": change} if dry_run else {})})
        return
    if dry_run:
        output.text(change or "nothing would change")
        return
    output.say(f"{printable(told)} in {printable(file)}" if is_changed else f"{printable(file)} says so already")
    if unset:
        output.say(f"{output.paint('warning:', 'warn')} it needs variables that are not set: {', '.join(unset)}")
    if edit.entry is not None and edit.entry.get("enabled", True) is not False:
        output.say(f"Try it: limen mcp doctor {edit.name}")


def _fields(  # noqa: PLR0913 - one argument per option
    command: list[str] | None,
    url: str | None,
    header: list[str] | None,
    env: list[str] | None,
    cwd: str | None,
    tag: list[str] | None,
    expose: str | None,
    timeout: str | None,
    transport: str | None,
) -> dict[str, Any]:
    """The fields of an entry that were named."""
    words = command or []
    fields: dict[str, Any] = {
        "command": words[0] if words else None,
        "args": words[1:] or None,
        "url": url,
        "headers": pairs(header or (), "--header") or None,
        "env": pairs(env or (), "--env", is_placeholder=True) or None,
        "cwd": cwd,
        "tags": tag or None,
        "expose": expose,
        "timeout": timeout,
        "transport": transport,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _masked(value: object) -> object:
    """A field as it was written; what is no placeholder under the name of a secret is masked."""
    if not is_object(value):
        return redact_value(value)
    masked = redact_value(value)
    assert is_object(masked), "a mapping stays one"
    return {key: masked[key] if MASK in hide_literals(str(item), MASK) else item for key, item in value.items()}
