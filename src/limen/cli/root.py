"""The tree of commands as typer sees it; the module of a command is loaded only when that command is run."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_command

from limen import __version__
from limen.cli.invocation import Invocation
from limen.cli.output import Output
from limen.cli.parameters import AsJson, ConfigFile, begin, example
from limen.errors import InvalidArguments

__all__ = ["COMMANDS", "build_tree", "load_command", "run_command"]


class Entry(NamedTuple):
    """Where a command lives, and its one line of help."""

    module: str
    line: str


COMMANDS: Mapping[str, Entry] = {
    "init": Entry("init", "Write a commented settings file, with a sample server."),
    "serve": Entry("hub", "Serve MCP clients over HTTP."),
    "stdio": Entry("hub", "Serve one MCP client on stdin and stdout."),
    "remember": Entry("memory", "Keep something for later."),
    "search": Entry("memory", "Find passages in a brain."),
    "recall": Entry("memory", "Bring back what is remembered about something."),
    "ingest": Entry("ingest", "Take files, folders and web addresses into a brain."),
    "brain": Entry("brain", "Make, list, check, move and put away brains."),
    "call": Entry("mcp.calls", "Call a tool of another server."),
    "mcp": Entry("mcp.group", "Use, look after and bring in other MCP servers."),
    "client": Entry("clients", "Bring servers in from other MCP clients, and Limen into them."),
    "status": Entry("status", "Tell whether the hub is running, and where everything is."),
    "logs": Entry("logs", "Show the calls that were made, the latest last."),
    "config": Entry("settings", "Find, show, check and edit the settings."),
    "doctor": Entry("doctor", "Check this machine, and tell the fix for what is wrong."),
    "audit": Entry("audit", "Prove that the audit trail was not changed."),
    "healthcheck": Entry("healthcheck", "Ask the hub whether it is well: exit code 0, or 4."),
}


class _LazyGroup(TyperGroup):
    """Lists commands by their stand-ins, and loads the real one when it is to run."""

    # Any: what typer passes here is of a class that it does not publish.
    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the first word names, loaded."""
        name, stand_in, rest = super().resolve_command(ctx, args)
        return name, stand_in and name and load_command(name), rest


def load_command(name: str) -> Any:
    """The real command: the one of this name in its module, or all of its module when that is a group."""
    found = get_command(import_module(f"limen.cli.{COMMANDS[name].module}").app)
    return found.commands.get(name, found) if isinstance(found, TyperGroup) else found


def build_tree() -> Any:
    """The root with a stand-in for each command."""
    app = typer.Typer(
        cls=_LazyGroup,
        name="limen",
        help="One local-first hub: a durable memory and a governed gateway for every MCP client.",
        epilog=example("limen serve", "limen doctor", "limen logs --errors --since 7d"),
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for name, entry in COMMANDS.items():
        app.command(name, help=entry.line)(_stand_in)
    return get_command(app)


def run_command(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run what the words say; the exit code says how it went.

    Raises:
        LimenError: the command failed.
    """
    try:
        code = build_tree().main(
            args=list(words), prog_name="limen", standalone_mode=False, obj=Invocation(environment)
        )
    except typer.TyperException as error:
        raise _translated(error) from error
    except typer.Abort:
        return 1
    return code if isinstance(code, int) else 0


def _translated(error: typer.TyperException) -> InvalidArguments:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "limen"
    message = error.format_message().rstrip(".")
    return InvalidArguments(message[:1].lower() + message[1:], fix=f"see `{command} --help`")


def _show_version(context: typer.Context, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        Output({}).text(__version__)
        raise typer.Exit


def _root(
    context: typer.Context,
    config: ConfigFile = None,
    as_json: AsJson = False,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    context.obj = begin(context, config, as_json)


def _stand_in() -> None:
    """Listed in the place of a command that is not loaded yet."""
