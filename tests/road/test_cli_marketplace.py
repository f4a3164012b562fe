"""`limen mcp add|update|remove|marketplace`, as a real program that changes a real file."""

import json
import sys
import zipfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from limen.samples import server as sample
from tests.environment import Home
from tests.road.keyboard import sit_down
from tests.road.shell import Shell
from tests.servers.registry import Registry, open_registry

pytestmark = pytest.mark.timeout(60)

MINE = """\
# my settings
servers:
  # the good one
  good:
    command: good-mcp   # from the shelf
    args: ["--fast"]
  web: {url: "https://mcp.example.com/mcp"}  # stays
tier: read   # for now
"""
WEATHER: dict[str, Any] = {
    "name": "com.example/weather",
    "version": "1.2.3",
    "description": "Tells the weather.",
    "packages": [
        {
            "registryType": "npm",
            "identifier": "@example/weather",
            "version": "1.2.3",
            "transport": {"type": "stdio"},
            "environmentVariables": [{"name": "WEATHER_KEY", "isRequired": True, "isSecret": True}],
        }
    ],
    "remotes": [{"type": "streamable-http", "url": "https://weather.example.com/mcp"}],
}
MOVING: dict[str, Any] = {
    "name": "com.example/weather-old",
    "version": "0.1.0",
    "packages": [{"registry_type": "npm", "identifier": "old", "version": "latest"}],
}


@pytest.fixture
def shell(limen_bin: Path, home: Home) -> Shell:
    return Shell(limen_bin, home)


@pytest.fixture
def file(home: Home) -> Path:
    path = home.path / "limen.yaml"
    path.write_text(MINE)
    return path


@pytest.fixture
def registry(home: Home) -> Generator[Registry]:
    with open_registry(WEATHER, MOVING) as opened:
        (home.path / "limen.yaml").write_text(f"registry:\n  url: {opened.url}\n")
        yield opened


def test_a_server_is_added_and_every_other_line_stays(shell: Shell, file: Path) -> None:
    dry = shell.run("mcp", "add", "files", "--env", "API_KEY", "--dry-run", "--", "npx", "-y", "pkg@1.0.0", "/srv")
    assert (dry.code, dry.data["written"], dry.data["unset"]) == (0, False, ["API_KEY"])
    assert file.read_text() == MINE
    done = shell.run("mcp", "add", "files", "--env", "API_KEY", "--", "npx", "-y", "pkg@1.0.0", "/srv")
    assert done.data["entry"]["env"] == {"API_KEY": "${API_KEY}"}
    added = '  files:\n    command: npx\n    args: ["-y", "pkg@1.0.0", /srv]\n    env: {API_KEY: "${API_KEY}"}\n'
    assert file.read_text() == MINE.replace("tier:", f"{added}tier:")
    again = shell.run("mcp", "add", "files", "--json", "--", "x")
    assert (again.code, again.error["code"]) == (1, "conflict")


def test_an_address_is_added_with_its_headers_and_no_secret_is_shown(shell: Shell, file: Path) -> None:
    words = [
        "mcp",
        "add",
        "docs",
        "--url",
        "https://docs.example.com/mcp",
        "--header",
        "Authorization=Bearer s3cr3t-t0ken",
    ]
    done = shell.run(*words)
    assert "s3cr3t" not in done.out
    assert "s3cr3t" not in shell.run(*words[:2], "other", *words[3:], "--dry-run").out
    assert 'headers: {Authorization: "Bearer s3cr3t-t0ken"}' in file.read_text()


def test_fields_are_changed_in_place_with_their_comments(shell: Shell, file: Path) -> None:
    assert shell.run("mcp", "update", "good", "--disable", "--tag", "mcp.good").code == 0
    assert shell.run("mcp", "update", "good", "--", "better-mcp", "--slow").code == 0
    assert shell.run("mcp", "update", "web", "--timeout", "90s", "--header", "X-Team=core").code == 0
    assert file.read_text() == MINE.replace(
        '    command: good-mcp   # from the shelf\n    args: ["--fast"]\n',
        '    command: better-mcp   # from the shelf\n    args: ["--slow"]\n    tags: [mcp.good]\n    enabled: false\n',
    ).replace(
        '{url: "https://mcp.example.com/mcp"}',
        '{url: "https://mcp.example.com/mcp", headers: {X-Team: core}, timeout: "90s"}',
    )


def test_a_server_is_removed(shell: Shell, file: Path) -> None:
    assert "-  web:" in shell.run("mcp", "remove", "web", "--dry-run").data["diff"]
    assert shell.run("mcp", "remove", "web").data["written"] is True
    assert file.read_text() == MINE.replace('  web: {url: "https://mcp.example.com/mcp"}  # stays\n', "")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["add", "x"], 2),
        (["add", "x", "--url", "https://a.example", "--", "b"], 2),
        (["add", "bad__name", "--", "b"], 2),
        (["add", "x", "--url", "ftp://a.example"], 2),
        (["update", "good"], 2),
        (["update", "god", "--enable"], 8),
        (["remove", "nobody"], 8),
    ],
)
def test_what_cannot_be_changed_leaves_the_file_alone(shell: Shell, file: Path, words: list[str], code: int) -> None:
    done = shell.run("mcp", *words)
    assert done.code == code, done.err
    assert file.read_text() == MINE


def test_servers_are_found_looked_at_and_added(shell: Shell, registry: Registry, home: Home) -> None:
    found = shell.run("mcp", "marketplace", "search", "weather").data
    assert [row["name"] for row in found] == ["com.example/weather", "com.example/weather-old"]
    shown = shell.run("mcp", "marketplace", "show", "com.example/weather").data
    assert shown["entry"]["args"] == ["-y", "@example/weather@1.2.3"]
    assert shown["needs"] == [{"name": "WEATHER_KEY", "description": "", "secret": True}]
    refused = shell.run("mcp", "marketplace", "add", "com.example/weather")
    assert refused.code == 2
    assert "servers" not in (home.path / "limen.yaml").read_text()
    added = shell.run("mcp", "marketplace", "add", "com.example/weather", "--yes").data
    assert (added["server"], added["unset"]) == ("weather", ["WEATHER_KEY"])
    assert 'env: {WEATHER_KEY: "${WEATHER_KEY}"}' in (home.path / "limen.yaml").read_text()


def test_a_version_that_moves_is_not_added(shell: Shell, registry: Registry) -> None:
    done = shell.run("mcp", "marketplace", "add", "com.example/weather-old", "--yes", "--json")
    assert (done.code, done.error["code"]) == (2, "invalid_arguments")
    assert "latest" in done.error["message"]
    missing = shell.run("mcp", "marketplace", "show", "com.example/nothing", "--json")
    assert (missing.code, missing.error["code"]) == (8, "not_found")


def test_without_a_registry_it_says_what_to_set(shell: Shell) -> None:
    done = shell.run("mcp", "marketplace", "search", "x", "--json")
    assert (done.code, done.error["facts"]["field"]) == (2, "registry.url")


def test_a_person_sees_what_they_add_and_is_asked(registry: Registry, limen_bin: Path, home: Home) -> None:
    with sit_down(limen_bin, home, "mcp", "marketplace", "add", "com.example/weather", sees_stdout=True) as person:
        person.wait_for("+    command: npx")
        person.wait_for("set WEATHER_KEY (a secret)")
        person.wait_for("Add weather? [y/N]")
        person.type("n")
        assert person.end()[0] == 0
    assert "servers" not in (home.path / "limen.yaml").read_text()


def test_a_bundle_is_unpacked_and_works(shell: Shell, home: Home) -> None:
    manifest = {
        "name": "sample-bundle",
        "version": "1.0.0",
        "server": {
            "type": "python",
            "entry_point": "server.py",
            "mcp_config": {"command": sys.executable, "args": ["${__dirname}/server.py"]},
        },
    }
    with zipfile.ZipFile(home.path / "sample.mcpb", "w") as bundle:
        bundle.writestr("manifest.json", json.dumps(manifest))
        bundle.writestr("server.py", Path(sample.__file__).read_text())
    dry = shell.run("mcp", "marketplace", "add", "sample.mcpb", "--as", "boxed", "--dry-run")
    assert (dry.code, dry.data["written"]) == (0, False)
    assert not (home.path / "data" / "bundles").exists()
    assert shell.run("mcp", "marketplace", "add", "sample.mcpb", "--as", "boxed", "--yes").data["server"] == "boxed"
    assert shell.run("call", "boxed", "echo", "text=from a box").data["content"][0]["text"] == "from a box"
