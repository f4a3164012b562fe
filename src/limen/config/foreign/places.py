"""The clients Limen knows: where each keeps its servers on this platform, and what Limen's entry looks like there."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from limen.config.paths import expand_home
from limen.config.syntax import Syntax

__all__ = ["CLIENTS", "NAME", "Client", "Place", "Scope", "find_places"]

NAME: Final = "limen"
"""What Limen is called in every client."""

Scope = Literal["user", "project"]
Shape = Callable[[Sequence[str]], dict[str, object]]


class Client(Struct, frozen=True, kw_only=True):
    """One program; of several files it may have, the first that is there counts, else the first."""

    name: str
    title: str
    user: tuple[str, ...] = ()
    project: tuple[str, ...] = ()
    syntax: Syntax = "json"
    section: tuple[str, ...] = ("mcpServers",)
    shape: Shape | None
    """What Limen's entry looks like, from the words that start it; None for programs that Limen only reads from."""
    program: str | None = None
    """Its own command, when that can add and remove servers."""


class Place(Struct, frozen=True):
    """One file of a client."""

    client: Client
    scope: Scope
    path: Path
    project: Path | None


def _plain(words: Sequence[str]) -> dict[str, object]:
    return {"command": words[0], "args": list(words[1:])}


def _typed(words: Sequence[str]) -> dict[str, object]:
    return {"type": "stdio", **_plain(words)}


def _with_env(words: Sequence[str]) -> dict[str, object]:
    return {**_typed(words), "env": {}}


def _all_tools(words: Sequence[str]) -> dict[str, object]:
    return {"type": "local", **_plain(words), "tools": ["*"]}


def _custom(words: Sequence[str]) -> dict[str, object]:
    return {"source": "custom", **_plain(words), "env": {}}


def _local(words: Sequence[str]) -> dict[str, object]:
    return {"type": "local", "command": list(words), "enabled": True}


def _extension(words: Sequence[str]) -> dict[str, object]:
    return {
        "name": NAME,
        "description": "Memory and every MCP server, behind one threshold",
        "type": "stdio",
        "cmd": words[0],
        "args": list(words[1:]),
        "envs": {},
        "enabled": True,
        "timeout": 300,
    }


CLIENTS: Final[Mapping[str, Client]] = {
    each.name: each
    for each in (
        Client(
            name="claude-code",
            title="Claude Code",
            user=("{claude}/.claude.json",),
            project=(".mcp.json",),
            shape=_with_env,
            program="claude",
        ),
        Client(
            name="claude-desktop",
            title="Claude Desktop",
            user=("{apps}/Claude/claude_desktop_config.json", "{apps}/claude/claude_desktop_config.json"),
            shape=_plain,
        ),
        Client(
            name="cursor", title="Cursor", user=("~/.cursor/mcp.json",), project=(".cursor/mcp.json",), shape=_plain
        ),
        Client(
            name="vscode",
            title="VS Code",
            user=("{apps}/Code/User/mcp.json",),
            project=(".vscode/mcp.json",),
            section=("servers",),
            shape=_typed,
        ),
        Client(
            name="codex",
            title="Codex CLI",
            user=("{codex}/config.toml",),
            project=(".codex/config.toml",),
            syntax="toml",
            section=("mcp_servers",),
            shape=_plain,
            program="codex",
        ),
        Client(
            name="gemini",
            title="Gemini CLI",
            user=("~/.gemini/settings.json",),
            project=(".gemini/settings.json",),
            shape=_plain,
            program="gemini",
        ),
        Client(name="windsurf", title="Windsurf", user=("~/.codeium/windsurf/mcp_config.json",), shape=_plain),
        Client(
            name="zed",
            title="Zed",
            user=("{config}/zed/settings.json",),
            project=(".zed/settings.json",),
            section=("context_servers",),
            shape=_custom,
        ),
        Client(
            name="opencode",
            title="OpenCode",
            user=("{config}/opencode/opencode.json", "{config}/opencode/opencode.jsonc"),
            project=("opencode.json", "opencode.jsonc"),
            section=("mcp",),
            shape=_local,
        ),
        Client(
            name="goose",
            title="Goose",
            user=("{goose}/config.yaml",),
            syntax="yaml",
            section=("extensions",),
            shape=_extension,
        ),
        Client(
            name="cline",
            title="Cline",
            user=("{apps}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",),
            shape=_plain,
        ),
        Client(
            name="copilot",
            title="Copilot CLI",
            user=("{copilot}/mcp-config.json",),
            project=(".github/mcp.json",),
            shape=_all_tools,
        ),
        Client(
            name="kiro",
            title="Kiro",
            user=("~/.kiro/settings/mcp.json",),
            project=(".kiro/settings/mcp.json",),
            shape=_plain,
        ),
        Client(name="lmstudio", title="LM Studio", user=("~/.lmstudio/mcp.json",), shape=_plain),
        Client(name="servers-json", title="mcp", user=("{mcp}/servers.json",), shape=None),
        Client(
            name="sidekick",
            title="Sidekick",
            user=("{binja}/sidekick/config/mcp_tools_config.json",),
            section=("servers",),
            shape=None,
        ),
    )
}
"""By the name that commands take, in the order in which they are read."""


def find_places(env: Mapping[str, str], project: Path, platform: str = sys.platform) -> list[Place]:
    """Every file of every client, whether it is there or not; looks only at which of several is."""
    folders = _folders(env, platform)
    home = expand_home("~", env)
    places: list[Place] = []
    for client in CLIENTS.values():
        if client.user:
            path = _first([_fill(pattern, folders, env) for pattern in client.user])
            places.append(Place(client, "user", path, None))
        # In the home folder, a project's file would often be the user's own.
        if client.project and project != home:
            path = _first([project / pattern for pattern in client.project])
            places.append(Place(client, "project", path, project))
    return places


def _folders(env: Mapping[str, str], platform: str) -> dict[str, str]:
    config = env.get("XDG_CONFIG_HOME", "")
    config = config if config.startswith("/") else "~/.config"
    roaming = env.get("APPDATA") or "~/AppData/Roaming"
    apps = {"darwin": "~/Library/Application Support", "win32": roaming}.get(platform, config)
    return {
        "apps": apps,
        "config": roaming if platform == "win32" else config,
        "claude": env.get("CLAUDE_CONFIG_DIR") or "~",
        "codex": env.get("CODEX_HOME") or "~/.codex",
        "copilot": env.get("COPILOT_HOME") or "~/.copilot",
        "goose": f"{roaming}/Block/goose/config" if platform == "win32" else f"{config}/goose",
        "mcp": env.get("MCP_CONFIG_DIR") or "~/.config/mcp",
        "binja": env.get("BN_USER_DIRECTORY") or _binja(platform, roaming),
    }


def _binja(platform: str, roaming: str) -> str:
    known = {"darwin": "~/Library/Application Support/Binary Ninja", "win32": f"{roaming}/Binary Ninja"}
    return known.get(platform, "~/.binaryninja")


def _fill(pattern: str, folders: Mapping[str, str], env: Mapping[str, str]) -> Path:
    return expand_home(pattern.format_map(folders), env)


def _first(paths: Sequence[Path]) -> Path:
    return next((path for path in paths if path.exists()), paths[0])
