"""Commands as MCP tools: their names, descriptions and input schemas. Runs nothing."""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any, Final

from msgspec import Struct

from limen.transport.cli.flags import Flag
from limen.transport.cli.helptext import NO_HELP, Help
from limen.transport.cli.usage import Positional

__all__ = ["ARGS", "Command", "Tool", "make_tools"]

ARGS: Final = "args"
"""The property for words that have no property of their own."""
MOST_NAME: Final = 128
MOST_PROPERTY: Final = 64
MOST_ABOUT: Final = 1_000
MOST_USAGE: Final = 600
MOST_PROPERTY_ABOUT: Final = 300
MOST_LISTED: Final = 40

_TYPE_WORDS: Final = frozenset({"string", "list", "int", "float", "text", "integer", "bool", "boolean", "value"})
_ARGS_SCHEMA: Final[dict[str, Any]] = {
    "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}],
    "description": "More positional words, passed literally; or one string of words and options, split at its spaces.",
}


class Command(Struct, frozen=True):
    """One command of a program: the words that select it, what its parent and its own help say of it."""

    path: tuple[str, ...]
    about: str = ""
    help: Help = NO_HELP


class Tool(Struct, frozen=True):
    """A command as a client sees it, and which property stands for what."""

    name: str
    command: Command
    flags: dict[str, Flag]
    positionals: dict[str, Positional]
    definition: dict[str, Any]


def make_tools(program: str, commands: Sequence[Command]) -> tuple[Tool, ...]:
    """One tool for each command, in the same order, under names that are unique and fit for the wire."""
    stem = PurePath(program).stem
    taken: set[str] = set()
    return tuple(_tool(_unique(_word("_".join((stem, *it.path))), taken, MOST_NAME), it) for it in commands)


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", text) or "_"


def _unique(name: str, taken: set[str], most: int) -> str:
    found, count = name[:most], 2
    while found in taken:
        tail = f"_{count}"
        found, count = name[: most - len(tail)] + tail, count + 1
    taken.add(found)
    return found


def _tool(name: str, command: Command) -> Tool:
    taken = {ARGS}
    flags = {_unique(_word(flag.name), taken, MOST_PROPERTY): flag for flag in command.help.flags}
    positionals = {_unique(_word(it.name), taken, MOST_PROPERTY): it for it in command.help.positionals}
    properties = {key: _flag_schema(flag) for key, flag in flags.items()}
    properties |= {key: _positional_schema(positional) for key, positional in positionals.items()}
    properties[ARGS] = _ARGS_SCHEMA
    required = [key for key, flag in flags.items() if flag.is_required]
    required += [key for key, positional in positionals.items() if positional.is_required]
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    definition = {"name": name, "description": _about(name, command), "inputSchema": schema}
    return Tool(name, command, flags, positionals, definition)


def _about(name: str, command: Command) -> str:
    said = command.about or command.help.summary or f"Run {name.replace('_', ' ')}."
    parts = [_cut(said, MOST_ABOUT)]
    if command.help.usage:
        parts.append("Usage: " + _cut("; ".join(command.help.usage), MOST_USAGE))
    if command.help.subcommands:
        listed = [it.name for it in command.help.subcommands[:MOST_LISTED]]
        parts.append(f"Subcommands, as the first of args: {', '.join(listed)}")
    return "\n".join(parts)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _flag_schema(flag: Flag) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": flag.kind}
    if flag.choices:
        schema["enum"] = list(flag.choices)
    if flag.repeats:
        schema = {"type": "array", "items": schema}
    default = None if flag.repeats else _default(flag)
    if default is not None:
        schema["default"] = default
    about = " ".join(_flag_words(flag))
    return {**schema, "description": _cut(about, MOST_PROPERTY_ABOUT)} if about else schema


def _flag_words(flag: Flag) -> Iterator[str]:
    if flag.hint and not flag.choices and flag.hint.lower() not in _TYPE_WORDS:
        yield f"{flag.hint}:"
    if flag.description:
        yield flag.description
    if flag.takes_value and flag.is_value_optional and flag.kind != "boolean":
        yield "(empty: the option without a value)"


def _default(flag: Flag) -> object:
    """The default as a value of the flag's type; None when it is none."""
    told = flag.default
    if told is None:
        return None
    if flag.kind == "boolean":
        return {"true": True, "false": False}.get(told.lower())
    if flag.kind == "string":
        return told if not flag.choices or told in flag.choices else None
    if flag.kind == "integer":
        return int(told) if re.fullmatch(r"-?\d{1,15}", told) else None
    return float(told) if re.fullmatch(r"-?\d{1,15}(?:\.\d{1,15})?", told) else None


def _positional_schema(positional: Positional) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if positional.choices:
        schema["enum"] = list(positional.choices)
    if positional.repeats:
        schema = {"type": "array", "items": schema}
    if positional.description:
        schema["description"] = _cut(positional.description, MOST_PROPERTY_ABOUT)
    return schema
