"""The options that several commands share, told once for typer and for the quick reader of `limen stdio`."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

__all__ = ["CONFIG", "HOST", "JSON", "NO_ATTACH", "PORT", "STDIO_OPTIONS", "TIER", "TOOLSETS", "Option", "read_options"]


class Option(NamedTuple):
    """One option of a command; without a metavar it takes no value."""

    flag: str
    help: str
    metavar: str = ""

    @property
    def name(self) -> str:
        """The flag without its dashes."""
        return self.flag.lstrip("-")


CONFIG = Option("--config", "Read this settings file and no other.", "FILE")
JSON = Option("--json", "Print JSON, and errors as JSON on stderr.")
TIER = Option("--tier", "The most that callers may do: read, write or admin.", "TIER")
TOOLSETS = Option("--toolsets", "Serve these toolsets only, separated by commas.", "NAMES")
HOST = Option("--host", "Listen on this address.", "HOST")
PORT = Option("--port", "Listen on this port; 0 takes any free one.", "PORT")

NO_ATTACH = Option("--no-attach", "Be a hub of its own, also when `limen serve` is running.")

ROOT_OPTIONS = (CONFIG, JSON)
"""These may also stand before the command."""
STDIO_OPTIONS = (CONFIG, JSON, TIER, TOOLSETS, NO_ATTACH)


def read_options(words: Sequence[str], command: str, options: Sequence[Option]) -> Mapping[str, str] | None:
    """The options given to one command, by name, when that is all the words say; None when typer must look at them.

    Loading typer takes longer than all else that `limen stdio` does before it answers its client.
    """
    known = {option.flag: option for option in options}
    found: dict[str, str] = {}
    commands: list[str] = []
    rest = iter(words)
    for word in rest:
        flag, has_value, value = word.partition("=")
        option = known.get(flag)
        if option is None:
            commands.append(word)
            continue
        if not option.metavar:
            value = "" if has_value else "true"
        elif not has_value:
            value = next(rest, "")
        if not value or value.startswith("-") or not (commands or option in ROOT_OPTIONS):
            return None
        found[option.name] = value
    return found if commands == [command] else None
