"""`limen config` and `limen doctor`, as real programs."""

from pathlib import Path

import pytest

from tests.environment import Home
from tests.requirements import requirement
from tests.road.shell import Shell

WRONG = """\
server:
  prot: 9000
  port: 99999
tiers: read
servers:
  files:
    command: npx
    args: ["-y", "${NOT_SET_ANYWHERE}"]
"""


SECRET = """\
tier: write
servers:
  web:
    url: https://example.com/mcp
    headers: {Authorization: Bearer abcdefgh1234}
"""


@pytest.fixture
def shell(limen_bin: Path, home: Home) -> Shell:
    return Shell(limen_bin, home)


def test_the_path_is_plain_text_in_a_pipe_as_well(shell: Shell) -> None:
    done = shell.run("config", "path")
    assert done.out == f"{shell.home.path / 'limen.yaml'}\n"
    assert "limen config edit" in done.err
    assert shell.run("config", "path", "--json").data == {"path": done.out.strip(), "exists": False}


@requirement("config.found-in-order")
def test_the_file_that_is_named_wins(shell: Shell) -> None:
    for name in ("a", "b"):
        (shell.home.path / f"{name}.yaml").write_text("tier: write\n")
    named = {"LIMEN_CONFIG": "a.yaml"}
    assert shell.run("config", "path", env=named).out.endswith("/a.yaml\n")
    assert shell.run("config", "path", "--config", "b.yaml", env=named).out.endswith("/b.yaml\n")
    assert shell.run("--config", "b.yaml", "config", "path").out.endswith("/b.yaml\n")


@requirement("config.show")
def test_settings_are_shown_with_their_origin_and_without_secrets(shell: Shell) -> None:
    (shell.home.path / "limen.yaml").write_text(SECRET)
    settings = shell.run("config", "show").data["settings"]
    assert settings["tier"] == {"value": "write", "from": "limen.yaml:1"}
    for shown in (shell.run("config", "show").out, shell.show("config", "show").out):
        assert "abcdefgh1234" not in shown
        assert "https://example.com/mcp" in shown


@requirement("config.all-problems", "config.unknown-key", "config.missing-variable")
def test_check_reports_every_problem_with_line_and_fix(shell: Shell) -> None:
    (shell.home.path / "limen.yaml").write_text(WRONG)
    done = shell.run("config", "check")
    assert done.code == 1
    problems = [(problem["line"], problem["path"]) for problem in done.data["problems"]]
    assert [line for line, _ in problems] == [2, 3, 4, 8]
    assert "did you mean `port`?" in done.data["problems"][0]["fix"]
    assert "did you mean `tier`?" in done.data["problems"][2]["fix"]
    assert "NOT_SET_ANYWHERE" in done.data["problems"][3]["message"]
    assert "4 errors" in done.err


@requirement("config.all-problems")
def test_check_on_a_terminal_shows_places_one_can_click(shell: Shell) -> None:
    (shell.home.path / "limen.yaml").write_text(WRONG)
    done = shell.show("config", "check", env={"NO_COLOR": "1"})
    assert done.code == 1
    assert "error  limen.yaml:2:3\n" in done.out
    assert "fix: did you mean `port`?" in done.out
    assert all(len(line) <= 80 for line in done.out.splitlines())


@requirement("config.all-problems")
def test_check_of_good_settings_says_so(shell: Shell) -> None:
    assert shell.run("config", "check").data == {"file": None, "ok": True, "problems": []}
    (shell.home.path / "limen.yaml").write_text("tier: write\n")
    assert "no problems" in shell.show("config", "check").out


def test_settings_that_cannot_be_used_stop_other_commands_with_every_reason(shell: Shell) -> None:
    (shell.home.path / "limen.yaml").write_text(WRONG)
    done = shell.run("logs", "--json")
    assert done.code == 1
    assert done.error["code"] == "config_invalid"
    assert len(done.error["facts"]["problems"]) == 4
    assert shell.run("logs").err.count("\n  limen.yaml:") == 3


def test_edit_makes_a_private_file_opens_it_and_checks_it(shell: Shell) -> None:
    editor = shell.home.path / "editor"
    editor.write_text('#!/bin/sh\nprintf "tier: wirte\\n" >> "$2"\n')
    editor.chmod(0o700)
    done = shell.run("config", "edit", env={"EDITOR": f"{editor} --wait"})
    file = shell.home.path / "limen.yaml"
    assert file.stat().st_mode & 0o777 == 0o600
    assert done.code == 1
    assert [problem["path"] for problem in done.data["problems"]] == ["tier"]


def test_edit_without_an_editor_says_which_variable_to_set(shell: Shell) -> None:
    done = shell.run("config", "edit", env={"EDITOR": "no-such-editor-anywhere"})
    assert done.code == 8
    assert "$EDITOR" in done.err


def test_an_editor_that_fails_is_told(shell: Shell) -> None:
    done = shell.run("config", "edit", env={"EDITOR": "false"})
    assert done.code == 1
    assert "ended with 1" in done.err


@requirement("cli.doctor")
@pytest.mark.timeout(20)
def test_a_fresh_home_is_healthy(shell: Shell, free_port: int) -> None:
    done = shell.run("doctor", env={"LIMEN_PORT": str(free_port)})
    assert done.code == 0, done.out
    assert {row["check"]: row["mark"] for row in done.rows} == dict.fromkeys(
        ["python", "uvloop", "git", "settings", "state", "disk", "clock", "audit", "port", "round trip"], "ok"
    )


@requirement("cli.doctor")
@pytest.mark.timeout(20)
def test_what_is_wrong_comes_with_its_fix(shell: Shell, free_port: int) -> None:
    (shell.home.path / "limen.yaml").write_text("tiers: read\n")
    state = shell.home.path / "state"
    state.mkdir(mode=0o755)
    state.chmod(0o755)
    done = shell.run("doctor", "--json", env={"LIMEN_PORT": str(free_port)})
    assert done.code == 1
    failed = {row["check"]: row["fix"] for row in done.rows if row["mark"] == "fail"}
    assert failed == {"settings": "limen config check", "state": f"chmod 700 '{state}'"}


@requirement("cli.doctor")
@pytest.mark.timeout(20)
def test_the_doctor_on_a_terminal_writes_one_line_a_check(shell: Shell, free_port: int) -> None:
    done = shell.show("doctor", env={"LIMEN_PORT": str(free_port), "NO_COLOR": "1"})
    assert done.code == 0
    assert all(len(line) <= 80 for line in done.out.splitlines())
    assert sum(line.startswith("ok    ") for line in done.out.splitlines()) == 10
