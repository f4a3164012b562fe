"""Server entries: names, the rules between fields, and the habits of other programs' files.

An error in one entry disables that server and leaves the others alone.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct, field, inspect

from limen.config.decode import Decoder
from limen.config.document import Field, Mark, Scalar, Table, is_null
from limen.config.model import ServerEntry
from limen.config.problems import Problem
from limen.config.shapes import parse_scalar
from limen.config.variables import expand

__all__ = ["SECTIONS", "Entries", "is_server_name", "read_entries"]

SECTIONS: Final = ("servers", "mcpServers")
"""Where entries may stand; the second is what other programs call it."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,47}")
_HINTS: Final = {
    "disabled": "write `enabled: false` to switch a server off",
    "httpUrl": "call it `url`",
    "serverUrl": "call it `url`",
    "uri": "call it `url`",
    "environment": "call it `env`",
    "arguments": "call it `args`",
    "requestTimeout": "call it `timeout`",
}
_FOR_PROGRAMS: Final = ("args", "env", "cwd")
_FOR_URLS: Final = ("headers", "transport")
_FOR_CLI: Final = ("cli_help", "cli_depth", "cli_only")


class Entries(Struct):
    """The servers that can be used, those that cannot with the reason, and what is wrong with any."""

    servers: dict[str, ServerEntry] = field(default_factory=dict[str, ServerEntry])
    disabled: dict[str, str] = field(default_factory=dict[str, str])
    problems: list[Problem] = field(default_factory=list[Problem])


def is_server_name(text: str) -> bool:
    """Whether a server may have this name: it becomes the part of its tools' names before `__`."""
    return bool(_NAME.fullmatch(text)) and "__" not in text and not text.endswith("_")


def read_entries(sections: Iterable[Field], parent: Decoder, doubled: dict[str, list[Problem]]) -> Entries:
    """Read every entry of every section; `doubled` holds what is already known to be wrong, by server."""
    found = Entries()
    shape = inspect.type_info(ServerEntry)
    assert isinstance(shape, inspect.StructType)
    first: dict[str, Mark] = {}
    for section in sections:
        if is_null(section.value):
            continue
        if not isinstance(section.value, Table):
            parent.report(
                section.value.at,
                section.key,
                f"`{section.key}` must be a mapping of names to servers",
                "write each server as `name:` with its fields below",
            )
            continue
        for entry in section.value.fields:
            decoder = Decoder(file=parent.file, env=parent.env, server=entry.key, hints=_HINTS, origins=parent.origins)
            decoder.problems += doubled.pop(entry.key, [])
            if entry.key in first:
                _twice(decoder, entry, first[entry.key])
            first.setdefault(entry.key, entry.at)
            _read_entry(decoder, entry, shape, found)
    return found


def _read_entry(decoder: Decoder, entry: Field, shape: inspect.StructType, found: Entries) -> None:
    server = _decode(decoder, entry, shape)
    found.problems += decoder.problems
    errors = [problem.message for problem in decoder.problems if problem.severity == "error"]
    if errors:
        found.servers.pop(entry.key, None)
        earlier = found.disabled.get(entry.key)
        found.disabled[entry.key] = "; ".join([earlier, *errors] if earlier else errors)
    elif decoder.unset:
        found.disabled[entry.key] = f"switched off, with variables that are not set: {', '.join(decoder.unset)}"
    elif server is not None:
        found.servers[entry.key] = server


def _decode(decoder: Decoder, entry: Field, shape: inspect.StructType) -> ServerEntry | None:
    path = f"servers.{entry.key}"
    if not is_server_name(entry.key):
        decoder.report(
            entry.at,
            path,
            f"`{entry.key[:60]}` cannot be the name of a server",
            f"use letters, digits, `-` and single `_`, at most 48, such as `{_slug(entry.key)}`",
        )
    if not isinstance(entry.value, Table):
        decoder.report(entry.value.at, path, f"`{path}` must be a mapping", "give it a `command` or a `url`")
        return None
    decoder.is_off = not _is_enabled(entry.value, decoder.env)
    _note_type(decoder, entry.value, path)
    fields = [item for item in entry.value.fields if item.key != "type"]
    server = decoder.struct(shape, fields, entry.at, path)
    if not isinstance(server, ServerEntry):
        return None
    _check(decoder, server, {item.key: item.at for item in fields if not is_null(item.value)}, entry.at, path)
    return server


def _is_enabled(table: Table, env: Mapping[str, str]) -> bool:
    """Look at `enabled` ahead of the rest; a value that cannot be read is reported when its turn comes."""
    written = [item.value for item in table.fields if item.key == "enabled"]
    if not written or not isinstance(written[0], Scalar):
        return True
    try:
        return parse_scalar(inspect.BoolType(), expand(written[0].text, env).text) is True
    except ValueError:
        return True


def _note_type(decoder: Decoder, table: Table, path: str) -> None:
    for item in table.fields:
        if item.key != "type":
            continue
        kind = item.value.text if isinstance(item.value, Scalar) else ""
        is_sse = kind == "sse" and not any(other.key == "transport" for other in table.fields)
        fix = "write `transport: sse` if the server speaks the older HTTP+SSE" if is_sse else "it can be removed"
        decoder.report(
            item.at, f"{path}.type", f"`{path}.type` is not read: the other fields decide the kind", fix, "warning"
        )


def _check(decoder: Decoder, server: ServerEntry, given: Mapping[str, Mark], at: Mark, path: str) -> None:
    """The rules between fields."""

    def wrong(message: str, fix: str, *keys: str) -> None:
        decoder.report(next((given[key] for key in keys if key in given), at), path, message, fix)

    if "command" in given and "url" in given:
        wrong(f"`{path}` has both `command` and `url`", "keep the one that reaches the server", "url")
    elif "command" not in given and "url" not in given:
        wrong(f"`{path}` has neither `command` nor `url`", "add the one that reaches the server")
    elif server.cli and "url" in given:
        wrong(f"`{path}` is a `cli` and has a `url`", "give the program as `command`, or remove `cli`", "url")
    if server.min_idle_timeout_s > server.max_idle_timeout_s:
        wrong(
            f"`{path}.min_idle_timeout` is longer than `max_idle_timeout`",
            "make it the shorter of the two",
            "min_idle_timeout",
            "max_idle_timeout",
        )
    _check_tools(decoder, server, given.get("tools", at), path)
    _warn(decoder, server, given, path)


def _check_tools(decoder: Decoder, server: ServerEntry, at: Mark, path: str) -> None:
    for field_name in ("name", "alias"):
        counts = Counter(str(value) for tool in server.tools or () if (value := getattr(tool, field_name)) is not None)
        for value in (value for value, count in counts.items() if count > 1):
            decoder.report(
                at, f"{path}.tools", f"`{path}.tools` has the {field_name} `{value}` twice", "keep one of them"
            )


def _warn(decoder: Decoder, server: ServerEntry, given: Mapping[str, Mark], path: str) -> None:
    """Fields that have no effect on this kind of server, and a command line where a program's name should be."""
    # By the keys that were given: a `url` that could not be read still makes it a server with a `url`.
    kind = "cli" if server.cli else "http" if "url" in given else "stdio"
    idle = [*(_FOR_PROGRAMS if kind == "http" else _FOR_URLS), *(() if kind == "cli" else _FOR_CLI)]
    means = {"http": "a server with a `url`", "stdio": "an MCP program", "cli": "a `cli` program"}[kind]
    for key in idle:
        if key in given and ("command" in given) != ("url" in given):
            decoder.report(
                given[key],
                f"{path}.{key}",
                f"`{path}.{key}` has no effect: {means} does not use it",
                "remove it",
                "warning",
            )
    words = (server.command or "").split()
    if len(words) > 1 and "/" not in words[0] and "\\" not in words[0]:
        decoder.report(
            given["command"],
            f"{path}.command",
            f"`{path}.command` holds spaces; no shell splits it",
            "keep the program in `command` and move the rest to `args`",
            "warning",
        )


def _twice(decoder: Decoder, entry: Field, first: Mark) -> None:
    decoder.report(
        entry.at,
        f"servers.{entry.key}",
        f"the server `{entry.key}` is already given on line {first.line}",
        "remove or rename one of them",
    )


def _slug(name: str) -> str:
    words = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()
    return words[:48].strip("-") or "my-server"
