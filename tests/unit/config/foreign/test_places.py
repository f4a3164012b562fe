"""Where clients keep their files, on each platform."""

from pathlib import Path

import pytest

from limen.config.foreign.formats import FORMATS
from limen.config.foreign.places import CLIENTS, find_places

HOME = {"HOME": "/home/you"}
SHOP = Path("/srv/shop")


def paths(platform: str = "linux", **env: str) -> dict[tuple[str, str], str]:
    places = find_places({**HOME, **env}, SHOP, platform)
    return {(place.client.name, place.scope): place.path.as_posix() for place in places}


@pytest.mark.parametrize(
    ("platform", "client", "expected"),
    [
        ("linux", "claude-desktop", "/home/you/.config/Claude/claude_desktop_config.json"),
        ("darwin", "claude-desktop", "/home/you/Library/Application Support/Claude/claude_desktop_config.json"),
        ("win32", "claude-desktop", "/home/you/AppData/Roaming/Claude/claude_desktop_config.json"),
        ("linux", "vscode", "/home/you/.config/Code/User/mcp.json"),
        ("darwin", "vscode", "/home/you/Library/Application Support/Code/User/mcp.json"),
        ("darwin", "zed", "/home/you/.config/zed/settings.json"),
        ("darwin", "goose", "/home/you/.config/goose/config.yaml"),
        ("linux", "codex", "/home/you/.codex/config.toml"),
        ("linux", "claude-code", "/home/you/.claude.json"),
    ],
)
def test_the_users_file_is_where_the_platform_has_it(platform: str, client: str, expected: str) -> None:
    assert paths(platform)[client, "user"] == expected


@pytest.mark.parametrize(
    ("variable", "client", "expected"),
    [
        ("CODEX_HOME", "codex", "/srv/x/config.toml"),
        ("CLAUDE_CONFIG_DIR", "claude-code", "/srv/x/.claude.json"),
        ("COPILOT_HOME", "copilot", "/srv/x/mcp-config.json"),
        ("MCP_CONFIG_DIR", "servers-json", "/srv/x/servers.json"),
        ("BN_USER_DIRECTORY", "sidekick", "/srv/x/sidekick/config/mcp_tools_config.json"),
        ("XDG_CONFIG_HOME", "zed", "/srv/x/zed/settings.json"),
    ],
)
def test_a_client_that_was_told_where_is_believed(variable: str, client: str, expected: str) -> None:
    assert paths(**{variable: "/srv/x"})[client, "user"] == expected


def test_a_projects_file_is_in_the_project() -> None:
    found = paths()
    assert found["claude-code", "project"] == "/srv/shop/.mcp.json"
    assert found["vscode", "project"] == "/srv/shop/.vscode/mcp.json"


def test_the_home_folder_is_no_project() -> None:
    assert {place.scope for place in find_places(HOME, Path("/home/you"), "linux")} == {"user"}


def test_every_client_can_be_read_from() -> None:
    assert CLIENTS.keys() <= FORMATS.keys()
    for name, client in CLIENTS.items():
        assert client.section in FORMATS[name].sections
        assert client.syntax == FORMATS[name].syntax
