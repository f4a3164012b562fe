"""The options that several commands share, in the form typer reads, and the way from them to an invocation."""

from pathlib import Path
from typing import Annotated

import typer

from limen.cli.invocation import Invocation
from limen.cli.options import CONFIG, HOST, JSON, NO_ATTACH, PORT, TIER, TOOLSETS

__all__ = [
    "AsJson",
    "ConfigFile",
    "Host",
    "NoAttach",
    "Port",
    "TierName",
    "ToolsetNames",
    "begin",
    "example",
    "new_app",
]

AsJson = Annotated[bool, typer.Option(JSON.flag, help=JSON.help)]
ConfigFile = Annotated[Path | None, typer.Option(CONFIG.flag, metavar=CONFIG.metavar, help=CONFIG.help)]
TierName = Annotated[str | None, typer.Option(TIER.flag, metavar=TIER.metavar, help=TIER.help)]
ToolsetNames = Annotated[str | None, typer.Option(TOOLSETS.flag, metavar=TOOLSETS.metavar, help=TOOLSETS.help)]
NoAttach = Annotated[bool, typer.Option(NO_ATTACH.flag, help=NO_ATTACH.help)]
Host = Annotated[str | None, typer.Option(HOST.flag, metavar=HOST.metavar, help=HOST.help)]
Port = Annotated[int | None, typer.Option(PORT.flag, metavar=PORT.metavar, help=PORT.help)]


def new_app(*, summary: str | None = None) -> typer.Typer:
    """A typer app in the house's way: plain help texts, completion left to the root."""
    return typer.Typer(help=summary, add_completion=False, rich_markup_mode=None)


def example(*lines: str) -> str:
    """The end of a help text: commands to copy, kept as they are written."""
    return "\n".join(["\b", "Examples:" if len(lines) > 1 else "Example:", *(f"  {line}" for line in lines)])


def begin(context: typer.Context, config: Path | None, as_json: bool) -> Invocation:
    """What the command runs with: the options given to it, and those given before its name."""
    root = context.find_object(Invocation)
    assert root is not None, "the root command makes one"
    return root.with_options(config=config, as_json=as_json)
