"""Which formats there are, where in a file each keeps its servers, and how a file of unknown origin is recognised."""

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Final

from msgspec import Struct

from limen.config.foreign.fields import TimeoutUnit
from limen.config.foreign.placeholders import Style
from limen.config.syntax import Syntax
from limen.shapes import is_array, is_object

__all__ = ["ANY", "FORMATS", "Format", "guess_syntax", "recognise"]

ANY: Final = "*"
"""Stands in a path for every key."""


class Format(Struct, frozen=True, kw_only=True):
    """One program's way to write servers down."""

    name: str
    syntax: Syntax = "json"
    sections: tuple[tuple[str, ...], ...] = (("mcpServers",),)
    """Where its servers are: paths of keys to a mapping of names to entries, or to a list of entries with a `name`."""
    timeout_unit: TimeoutUnit = "s"
    placeholders: Style = "braces"
    nested: tuple[str, ...] = ()
    """Keys whose content is to be read as if it stood one level higher."""
    refuses_command_lists: bool = False
    off_lists: tuple[tuple[str, ...], ...] = ()
    """Paths to lists with the names of servers that are switched off."""
    left_out: Mapping[str, str] = {}
    """Keys at the root that also matter for servers, and what becomes of them."""


_OWN_RULES: Final = "Limen has rules of its own for this"

FORMATS: Final[Mapping[str, Format]] = {
    each.name: each
    for each in (
        Format(
            name="claude-code",
            sections=(("mcpServers",), ("projects", ANY, "mcpServers")),
            timeout_unit="ms",
            off_lists=(("projects", ANY, "disabledMcpServers"),),
        ),
        Format(name="claude-desktop"),
        Format(name="cursor"),
        Format(name="vscode", sections=(("servers",), ("mcp", "servers"))),
        Format(name="codex", syntax="toml", sections=(("mcp_servers",),)),
        Format(
            name="gemini",
            timeout_unit="ms",
            placeholders="dollar",
            off_lists=(("mcp", "excluded"),),
            left_out={"allowMCPServers": _OWN_RULES, "excludeMCPServers": _OWN_RULES},
        ),
        Format(name="windsurf"),
        Format(name="zed", sections=(("context_servers",),), nested=("command", "settings"), timeout_unit="ms"),
        Format(name="opencode", sections=(("mcp",),), placeholders="curly", timeout_unit="start"),
        Format(name="goose", syntax="yaml", sections=(("extensions",),)),
        Format(name="cline"),
        Format(name="copilot"),
        Format(name="kiro", timeout_unit="ms"),
        Format(name="lmstudio", timeout_unit="ms"),
        Format(
            name="servers-json",
            left_out={
                "serverAuth": "who may call is set in Limen itself",
                "audit": "Limen's audit trail has settings of its own",
            },
        ),
        Format(name="sidekick", sections=(("servers",),), nested=("server_config",), timeout_unit="start"),
        Format(
            name="secondbrain",
            syntax="yaml",
            sections=(("control_plane", "mcp_servers"),),
            refuses_command_lists=True,
            left_out={"control_plane.mcp_stdio_allowed_commands": _OWN_RULES},
        ),
        Format(name="mcp-json"),
        Format(name="mcp-map", sections=((),)),
    )
}
"""By the name that `--from` takes; the last two are nobody's in particular."""

_BY_NAME: Final = {
    ".claude.json": "claude-code",
    ".mcp.json": "claude-code",
    "claude_desktop_config.json": "claude-desktop",
    "cline_mcp_settings.json": "cline",
    "mcp-config.json": "copilot",
    "mcp_config.json": "windsurf",
    "servers.json": "servers-json",
}
_BY_FOLDER: Final = {
    ".cursor": "cursor",
    ".gemini": "gemini",
    ".kiro": "kiro",
    ".lmstudio": "lmstudio",
}


def guess_syntax(file: PurePath, text: str) -> Syntax:
    """What a file is written in, by its name, else by how it begins."""
    match file.suffix.lower():
        case ".toml":
            return "toml"
        case ".json" | ".jsonc" | ".json5" | ".code-workspace":
            return "json"
        case ".yaml" | ".yml":
            return "yaml"
        case _:
            return "json" if text.lstrip("\ufeff \t\r\n").startswith(("{", "/")) else "yaml"


def recognise(data: object, file: PurePath) -> Format | None:
    """The format of a file, by what stands in it, and by its name where several write the same."""
    if not is_object(data):
        return None
    for name, fits in _SIGNS.items():
        if fits(data):
            return FORMATS[name]
    if is_object(data.get("mcpServers")):
        folder = file.parts[-2] if len(file.parts) > 1 else ""
        return FORMATS[_BY_NAME.get(file.name) or _BY_FOLDER.get(folder, "mcp-json")]
    for name, fits in _WEAK_SIGNS.items():
        if fits(data):
            return FORMATS[name]
    return None


def _has_projects(data: Mapping[str, object]) -> bool:
    projects = data.get("projects")
    return is_object(projects) and any(is_object(each) and "mcpServers" in each for each in projects.values())


def _is_entry(value: object) -> bool:
    return is_object(value) and any(key in value for key in ("command", "cmd", "url", "httpUrl", "serverUrl", "uri"))


def _holds_entries(value: object) -> bool:
    return is_object(value) and any(map(_is_entry, value.values()))


_SIGNS: Final[Mapping[str, Callable[[Mapping[str, object]], bool]]] = {
    "secondbrain": lambda data: is_object(data.get("control_plane")),
    "sidekick": lambda data: is_array(data.get("servers")),
    "codex": lambda data: is_object(data.get("mcp_servers")),
    "zed": lambda data: is_object(data.get("context_servers")),
    "claude-code": _has_projects,
}
_WEAK_SIGNS: Final[Mapping[str, Callable[[Mapping[str, object]], bool]]] = {
    "vscode": lambda data: is_object(data.get("servers")) or is_object(_inner(data, "mcp").get("servers")),
    "goose": lambda data: _holds_entries(data.get("extensions")),
    "opencode": lambda data: _holds_entries(data.get("mcp")),
    "mcp-map": _holds_entries,
}


def _inner(data: Mapping[str, object], key: str) -> Mapping[str, object]:
    found = data.get(key)
    return found if is_object(found) else {}
