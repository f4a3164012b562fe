"""`limen client` in a throw-away home: the command itself in this process, and as a real program on a terminal."""

import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limen.cli.main import run
from limen.config.foreign.places import CLIENTS, find_places
from limen.config.syntax import read_plain
from limen.shapes import is_object
from tests.environment import Home
from tests.requirements import requirement
from tests.road.shell import Done, Shell
from tests.unit.config.foreign.samples import CLIENTS as SAMPLES
from tests.unit.config.foreign.samples import SERVERS_JSON, SIDEKICK, Sample

pytestmark = pytest.mark.timeout(30)

MINE = """\
# my settings
tier: read   # for now
servers:
  web: {command: mine}  # stays
"""
TOKEN = "ghp_abcdefabcdefabcdefabcd"
SAMPLE_OF = {sample.format: sample for sample in SAMPLES}
INSTALLABLE = [client.name for client in CLIENTS.values() if client.shape]


class Desk:
    """One user's home with a project in it; no client's own command is on the PATH."""

    def __init__(self, limen: Path, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home.path
        self.project = home.path / "shop"
        self.project.mkdir()
        self.bin = home.path / "bin"
        self.bin.mkdir()
        self.env = {**home.env, "PATH": str(self.bin)}
        self.limen = limen
        self._capsys = capsys

    @property
    def settings(self) -> Path:
        return self.home / "limen.yaml"

    def run(self, *words: str, group: str = "client") -> Done:
        """Run a command in this process, as if in a pipe."""
        self._capsys.readouterr()
        code = run([group, *words], self.env)
        said = self._capsys.readouterr()
        return Done(code, said.out, said.err)

    def show(self, *words: str, env: dict[str, str] | None = None) -> Done:
        shell = Shell(self.limen, Home(self.project, {**self.env, "NO_COLOR": "1", **(env or {})}))
        return shell.show("client", *words, columns=120)

    def file(self, client: str, scope: str = "user") -> Path:
        places = find_places(self.env, self.project)
        return next(place.path for place in places if (place.client.name, place.scope) == (client, scope))

    def write(self, client: str, text: str, scope: str = "user") -> Path:
        path = self.file(client, scope)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def program(self, name: str, body: str) -> None:
        """A stand-in for a client's own command."""
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)


@pytest.fixture
def desk(limen_bin: Path, home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(limen_bin, home, capsys)
    monkeypatch.chdir(desk.project)
    return desk


def files(folder: Path) -> dict[str, bytes]:
    """Every file beneath a folder, but for what Limen itself keeps there."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def cursor_file(**servers: Any) -> str:
    return json.dumps({"mcpServers": servers}, indent=2)


def test_servers_come_into_the_settings_and_comments_stay(desk: Desk) -> None:
    desk.settings.write_text(MINE)
    desk.settings.chmod(0o640)
    desk.write("cursor", cursor_file(docs={"command": "docs-mcp", "args": ["${ROOM}"]}, web={"command": "theirs"}))
    done = desk.run("import", "--yes")
    assert done.code == 0
    assert desk.settings.read_text() == MINE + '  docs:\n    command: docs-mcp\n    args: ["${ROOM}"]\n'
    assert {row["name"]: row["standing"] for row in done.data["servers"]} == {"docs": "new", "web": "exists"}
    assert stat.S_IMODE(desk.settings.stat().st_mode) == 0o640
    backup = Path(done.data["backup"])
    assert backup.read_text() == MINE
    assert stat.S_IMODE(backup.stat().st_mode) == 0o640


def test_importing_again_changes_nothing(desk: Desk) -> None:
    desk.write("cursor", cursor_file(docs={"command": "docs-mcp"}))
    assert desk.run("import", "--yes").data["written"] is True
    before = files(desk.home)
    again = desk.run("import", "--yes").data
    assert (again["written"], again["backup"]) == (False, None)
    assert files(desk.home) == before


def test_settings_that_were_not_there_are_made_for_their_owner_alone(desk: Desk) -> None:
    desk.write("cursor", cursor_file(docs={"command": "docs-mcp"}))
    assert desk.run("import", "--yes").code == 0
    assert desk.settings.read_text() == "servers:\n  docs:\n    command: docs-mcp\n"
    assert stat.S_IMODE(desk.settings.stat().st_mode) == 0o600


def test_without_a_yes_nothing_is_written(desk: Desk) -> None:
    desk.write("cursor", cursor_file(docs={"command": "docs-mcp"}))
    done = desk.run("import")
    assert done.code == 2
    assert done.data["written"] is False
    assert [row["name"] for row in done.data["servers"]] == ["docs"]
    assert "--yes" in done.err
    assert not desk.settings.exists()


def test_a_dry_run_shows_the_difference_and_writes_nothing(desk: Desk) -> None:
    desk.settings.write_text(MINE)
    desk.write("cursor", cursor_file(docs={"command": "docs-mcp"}))
    before = files(desk.home)
    assert "+  docs:" in desk.run("import", "--dry-run").data["diff"]
    shown = desk.show("import", "--dry-run")
    assert "+    command: docs-mcp" in shown.out
    assert "would be added" in shown.err
    assert files(desk.home) == before


def test_every_clients_servers_are_found_at_once(desk: Desk) -> None:
    for sample in SAMPLES:
        desk.write(sample.format, sample.text, "project" if sample.file.startswith("/srv/shop") else "user")
    desk.write("servers-json", SERVERS_JSON.text)
    desk.write("sidekick", SIDEKICK.text)
    done = desk.run("import", "--yes")
    assert done.code == 0, done.err
    rows = done.data["servers"]
    assert {row["from"] for row in rows} == {*SAMPLE_OF, "servers-json", "sidekick"}
    assert [row["name"] for row in rows if row["name"].startswith("docs")] == ["docs", "docs-2"]
    settings = read_plain(desk.settings.read_text(), "yaml")
    assert is_object(settings)
    assert len(settings["servers"]) == len({row["name"] for row in rows})
    problems = desk.run("check", "--json", group="config").data["problems"]
    assert all("variable" in problem["message"] for problem in problems)


@requirement("client.import-no-secrets")
def test_secrets_stay_where_they_are(desk: Desk) -> None:
    desk.write("cursor", cursor_file(git={"command": "git-mcp", "env": {"GITHUB_TOKEN": TOKEN}}))
    for done in (desk.run("import", "--dry-run"), desk.show("import", "--dry-run"), desk.run("import", "--yes")):
        assert TOKEN not in done.out + done.err
        assert "GITHUB_TOKEN" in done.out + done.err
    assert TOKEN not in desk.settings.read_text()
    assert 'GITHUB_TOKEN: "${GITHUB_TOKEN}"' in desk.settings.read_text()


def test_one_broken_file_does_not_stop_the_others(desk: Desk) -> None:
    broken = desk.write("gemini", '{"mcpServers": {')
    desk.write("cursor", cursor_file(docs={"command": "docs-mcp"}))
    done = desk.run("import", "--yes")
    assert done.code == 1
    assert f"{broken}:1:" in done.data["failures"][0]["message"]
    assert "docs:" in desk.settings.read_text()


def test_a_broken_file_that_was_named_stops_everything(desk: Desk) -> None:
    (desk.project / "good.json").write_text(cursor_file(docs={"command": "docs-mcp"}))
    (desk.project / "bad.json").write_text('{"mcpServers": {"a" 1}}')
    done = desk.run("import", "good.json", "bad.json", "--json")
    assert done.error["code"] == "config_invalid"
    assert "bad.json:1:21" in done.error["message"]
    assert not desk.settings.exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["import", "nowhere.json"], "not_found"),
        (["import", "--from", "nobody"], "invalid_arguments"),
        (["import", "--from", "secondbrain"], "invalid_arguments"),
        (["install", "nobody"], "invalid_arguments"),
        (["install", "cursor", "--scope", "world"], "invalid_arguments"),
        (["install", "windsurf", "--scope", "project"], "not_found"),
        (["install", "cursor"], "invalid_arguments"),
    ],
)
def test_what_cannot_be_done_is_told(desk: Desk, words: list[str], code: str) -> None:
    done = desk.run(*words, "--json")
    assert done.error["code"] == code
    assert done.error["facts"]["fix"]
    assert not desk.settings.exists()


def test_a_named_file_is_imported_without_a_question(desk: Desk) -> None:
    (desk.project / "mcp_tools_config.json").write_text(SIDEKICK.text)
    done = desk.run("import", "mcp_tools_config.json")
    assert done.code == 0
    assert [row["name"] for row in done.data["servers"]] == list(SIDEKICK.servers)
    assert "enabled: false" in desk.settings.read_text()


def test_settings_in_json_stay_json(desk: Desk) -> None:
    desk.settings.write_text('{"tier": "read", "mcpServers": {"a": {"command": "x"}}}\n')
    desk.write("cursor", cursor_file(docs={"command": "docs-mcp"}))
    assert desk.run("import", "--yes").code == 0
    assert json.loads(desk.settings.read_text())["mcpServers"].keys() == {"a", "docs"}


def test_settings_that_cannot_be_read_are_left_alone(desk: Desk) -> None:
    desk.settings.write_text("servers: [\n")
    desk.write("cursor", cursor_file(docs={"command": "docs-mcp"}))
    done = desk.run("import", "--yes", "--json")
    assert done.error["code"] == "config_invalid"
    assert desk.settings.read_text() == "servers: [\n"


def test_imported_programs_are_never_started(desk: Desk) -> None:
    desk.program("trap", f"touch {desk.home}/sprung")
    desk.write("cursor", cursor_file(trap={"command": str(desk.bin / "trap")}))
    assert desk.run("import", "--yes").code == 0
    assert desk.run("list").code == 0
    assert not (desk.home / "sprung").exists()


@requirement("client.install-undone")
@pytest.mark.parametrize("name", INSTALLABLE)
def test_installing_and_uninstalling_leaves_no_trace(desk: Desk, name: str) -> None:
    before = files(desk.home)
    assert desk.run("install", name, "--yes").code == 0
    assert {row["client"] for row in desk.run("list").data if row["installed"]} == {name}
    assert desk.run("uninstall", name, "--yes").code == 0
    assert files(desk.home) == before
    assert sorted(path.name for path in desk.home.iterdir()) == ["bin", "shop"]


@requirement("client.install-undone")
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.format)
def test_a_file_that_nobody_touched_meanwhile_becomes_what_it_was(desk: Desk, sample: Sample) -> None:
    text = sample.text.replace('"limen"', '"other"').replace('"command": "limen"', '"command": "other"')
    path = desk.write(sample.format, text)
    path.chmod(0o644)
    before = files(desk.home)
    assert desk.run("install", sample.format, "--yes").code == 0
    assert path.read_text() != text
    assert desk.run("install", sample.format, "--yes").data["changed"] is False
    assert desk.run("uninstall", sample.format, "--yes").code == 0
    assert files(desk.home) == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.mark.parametrize("name", ["cursor", "codex", "goose", "zed"])
def test_a_file_that_somebody_touched_loses_only_limen(desk: Desk, name: str) -> None:
    sample = SAMPLE_OF[name]
    path = desk.write(name, sample.text)
    assert desk.run("install", name, "--yes").code == 0
    mark = "# touched\n" if sample.syntax != "json" else "// touched\n"
    path.write_text(mark + path.read_text())
    assert desk.run("uninstall", name, "--yes").code == 0
    assert path.read_text() == mark + sample.text


def test_the_entry_starts_the_limen_that_wrote_it(desk: Desk, limen_bin: Path) -> None:
    desk.run("install", "cursor", "--yes")
    entry = json.loads(desk.file("cursor").read_text())["mcpServers"]["limen"]
    assert entry == {"command": str(limen_bin), "args": ["stdio"]}
    desk.program("limen", "exit 0")
    desk.run("install", "windsurf", "--yes")
    entry = json.loads(desk.file("windsurf").read_text())["mcpServers"]["limen"]
    assert entry == {"command": "limen", "args": ["stdio"]}


def test_an_entry_that_starts_another_limen_is_brought_up_to_date(desk: Desk, limen_bin: Path) -> None:
    path = desk.write("cursor", cursor_file(limen={"command": "/gone/limen", "args": ["stdio"]}))
    assert desk.run("install", "cursor", "--yes").data["changed"] is True
    assert json.loads(path.read_text())["mcpServers"]["limen"]["command"] == str(limen_bin)
    assert desk.run("uninstall", "cursor", "--yes").code == 0
    assert json.loads(path.read_text()) == {"mcpServers": {}}


def test_limen_under_another_name_is_found_and_taken_out(desk: Desk) -> None:
    path = desk.write("cursor", cursor_file(hub={"command": "/opt/limen", "args": ["stdio"]}, a={"command": "x"}))
    assert desk.run("install", "cursor", "--yes").data["changed"] is False
    assert desk.run("uninstall", "cursor", "--yes").data["changed"] is True
    assert json.loads(path.read_text()) == {"mcpServers": {"a": {"command": "x"}}}


def test_another_server_of_that_name_is_neither_overwritten_nor_taken_out(desk: Desk) -> None:
    path = desk.write("cursor", cursor_file(limen={"command": "something-else"}))
    before = path.read_text()
    assert desk.run("install", "cursor", "--yes", "--json").error["code"] == "conflict"
    assert desk.run("uninstall", "cursor", "--yes").data["changed"] is False
    assert path.read_text() == before


def test_a_link_is_followed_to_the_file(desk: Desk) -> None:
    real = desk.home / "dotfiles.json"
    real.write_text(cursor_file(a={"command": "x"}))
    link = desk.file("cursor")
    link.parent.mkdir()
    link.symlink_to(real)
    assert desk.run("install", "cursor", "--yes").code == 0
    assert link.is_symlink()
    assert "limen" in json.loads(real.read_text())["mcpServers"]
    assert desk.run("uninstall", "cursor", "--yes").code == 0
    assert link.is_symlink()
    assert real.read_text() == cursor_file(a={"command": "x"})


def test_a_dry_run_of_an_installation_masks_the_secrets_around_it(desk: Desk) -> None:
    desk.write("cursor", cursor_file(a={"command": "x", "env": {"API_KEY": "open sesame", "OTHER": TOKEN}}))
    before = files(desk.home)
    done = desk.run("install", "cursor", "--dry-run")
    assert done.code == 0
    assert "+" in done.data["diff"]
    for shown in (done.out, desk.show("install", "cursor", "--dry-run").out):
        assert "sesame" not in shown
        assert TOKEN not in shown
    assert files(desk.home) == before


def test_a_file_that_cannot_be_changed_safely_is_left_alone(desk: Desk) -> None:
    path = desk.write("codex", "mcp_servers = { a = { command = 'x' } }\n")
    done = desk.run("install", "codex", "--yes", "--json")
    assert done.error["code"] == "config_invalid"
    assert "mcp_servers.limen" in done.error["facts"]["fix"]
    assert path.read_text() == "mcp_servers = { a = { command = 'x' } }\n"


CODEX_ADD = r"""
if [ "$2" = add ]; then
  printf '[mcp_servers.limen]\ncommand = "%s"\nargs = ["stdio"]\n' "$5" >> "$HOME/.codex/config.toml"
else
  printf 'removed = true\n' > "$HOME/.codex/config.toml"
fi
"""


def test_a_clients_own_command_is_used_where_there_is_one(desk: Desk) -> None:
    desk.env["PATH"] += os.pathsep + os.defpath
    desk.program("codex", CODEX_ADD)
    path = desk.write("codex", "model = 'o9'\n")
    planned = desk.run("install", "codex", "--dry-run").data["command"]
    assert planned[:5] == ["codex", "mcp", "add", "limen", "--"]
    assert desk.run("install", "codex", "--yes").code == 0
    assert "limen" in path.read_text()
    touched = path.read_text() + "# touched\n"
    path.write_text(touched)
    assert desk.run("uninstall", "codex", "--yes").code == 0
    assert path.read_text() == "removed = true\n"


def test_what_a_clients_own_command_wrote_is_undone_to_the_byte(desk: Desk) -> None:
    desk.env["PATH"] += os.pathsep + os.defpath
    desk.program("codex", CODEX_ADD)
    path = desk.write("codex", "model = 'o9'\n")
    assert desk.run("install", "codex", "--yes").code == 0
    assert desk.run("uninstall", "codex", "--yes").code == 0
    assert path.read_text() == "model = 'o9'\n"


@pytest.mark.parametrize("body", ["echo no >&2; exit 1", "exit 0"])
def test_when_a_clients_own_command_fails_its_file_is_changed_and_that_is_told(desk: Desk, body: str) -> None:
    desk.program("codex", body)
    done = desk.run("install", "codex", "--yes")
    assert done.code == 0
    assert "`codex` could not do it" in done.err
    assert "[mcp_servers.limen]" in desk.file("codex").read_text()


def test_the_list_names_what_it_cannot_read(desk: Desk) -> None:
    desk.write("gemini", "{")
    row = next(row for row in desk.run("list").data if (row["client"], row["scope"]) == ("gemini", "user"))
    assert row["installed"] is None
    assert row["error"].startswith(str(desk.file("gemini")))
    assert "unreadable" in desk.show("list").out


@pytest.fixture
def answer(desk: Desk, limen_bin: Path) -> Callable[[str], int]:
    """Import on a terminal, and answer its question."""

    def ask(word: str) -> int:
        ours, theirs = os.openpty()
        try:
            os.write(ours, word.encode() + b"\n")
            return subprocess.run(
                [limen_bin, "client", "import"],
                env=desk.env,
                cwd=desk.project,
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                check=False,
            ).returncode
        finally:
            os.close(ours)
            os.close(theirs)

    return ask


@pytest.mark.parametrize(("word", "is_written"), [("y", True), ("yes", True), ("n", False), ("", False)])
def test_on_a_terminal_a_person_is_asked(desk: Desk, answer: Callable[[str], int], word: str, is_written: bool) -> None:
    desk.write("cursor", cursor_file(docs={"command": "docs-mcp"}))
    assert answer(word) == 0
    assert desk.settings.exists() is is_written
