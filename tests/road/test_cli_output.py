"""What every command has in common: where its words go, in which form, and what its exit code says."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from limen import __version__
from tests.environment import Home
from tests.requirements import requirement
from tests.road.shell import Shell

ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def shell(limen_bin: Path, home: Home) -> Shell:
    return Shell(limen_bin, home)


def test_limen_alone_prints_help_and_succeeds(shell: Shell) -> None:
    done = shell.run()
    assert done.code == 0
    assert "Commands:" in done.out
    assert not done.err


@requirement("cli.version")
def test_the_version_is_printed_and_nothing_else(shell: Shell) -> None:
    done = shell.run("--version")
    assert (done.code, done.out, done.err) == (0, f"{__version__}\n", "")


@requirement("cli.stdout-is-data")
def test_a_failure_leaves_stdout_empty(shell: Shell) -> None:
    done = shell.run("audit", "verify")
    assert done.code == 8
    assert not done.out
    assert done.err.startswith("error: there is no audit trail")


@requirement("cli.table-or-json")
def test_a_terminal_gets_a_table_and_a_pipe_json(shell: Shell) -> None:
    on_terminal, in_pipe = shell.show("config", "show"), shell.run("config", "show")
    assert ANSI.sub("", on_terminal.out).splitlines()[0].split() == ["SETTING", "VALUE", "FROM"]
    assert in_pipe.data["settings"]["server.port"] == {"value": 8765, "from": "default"}


@requirement("cli.table-or-json")
def test_json_can_be_asked_for_on_a_terminal_before_and_after_the_command(shell: Shell) -> None:
    before, after = shell.show("--json", "config", "show"), shell.show("config", "show", "--json")
    assert before.data == after.data == shell.run("config", "show").data


@requirement("cli.no-color")
def test_colours_are_for_terminals_that_want_them(shell: Shell) -> None:
    assert ANSI.search(shell.show("config", "show").out)
    assert not ANSI.search(shell.show("config", "show", env={"NO_COLOR": "1"}).out)
    assert not ANSI.search(shell.show("config", "show", env={"TERM": "dumb"}).out)
    assert ANSI.search(shell.show("config", "show", env={"TERM": "dumb", "FORCE_COLOR": "1"}).out)


@requirement("cli.no-color")
def test_errors_are_coloured_on_terminals_only(shell: Shell) -> None:
    assert ANSI.search(shell.show("healthcheck").err)
    assert not ANSI.search(shell.show("healthcheck", env={"NO_COLOR": "1"}).err)
    assert not ANSI.search(shell.run("healthcheck").err)
    assert ANSI.search(shell.run("healthcheck", env={"FORCE_COLOR": "1"}).err)


@requirement("cli.exit-codes")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("config show", 0),
        ("config show --config absent.yaml", 1),
        ("logs --no-such-option", 2),
        ("no-such-command", 2),
        ("logs --limit none", 2),
        ("logs --since yesterday", 2),
        ("logs unexpected", 2),
        ("logs --since 99999-01-01", 2),
        ("config", 2),
        ("stdio --tier root", 2),
        ("stdio --config", 2),
        ("serve --port 70000", 2),
        ("healthcheck --port 1", 4),
        ("audit verify", 8),
    ],
)
def test_each_kind_of_failure_has_its_exit_code(shell: Shell, line: str, code: int) -> None:
    done = shell.run(*line.split())
    assert done.code == code
    assert done.err.startswith("error: ") == (code != 0)


@requirement("cli.error-envelope")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("logs --no-such-option", "invalid_arguments"),
        ("audit verify", "not_found"),
        ("healthcheck --port 1", "unreachable"),
        ("stdio --toolsets nobody", "config_invalid"),
        ("stdio --tier root", "invalid_arguments"),
    ],
)
def test_with_json_a_failure_is_one_line_of_json_on_stderr(shell: Shell, line: str, code: str) -> None:
    done = shell.run(*line.split(), "--json")
    assert done.err.count("\n") == 1
    assert done.error["code"] == code
    assert done.error.keys() == {"code", "message", "retryable", "facts"}
    assert not done.out


def test_a_misspelt_command_is_answered_with_the_nearest(shell: Shell) -> None:
    assert "'status'" in shell.run("statu").err


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
@requirement("cli.completions")
def test_completions_are_printed_for_the_common_shells(shell: Shell, shell_name: str) -> None:
    done = shell.run(env={"_LIMEN_COMPLETE": f"source_{shell_name}"})
    assert done.code == 0
    assert "_LIMEN_COMPLETE" in done.out


@requirement("cli.completions")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [("limen he", ["healthcheck"]), ("limen logs --si", ["--since"]), ("limen config e", ["edit"])],
)
def test_a_shell_is_told_what_fits(shell: Shell, typed: str, offered: list[str]) -> None:
    words = typed.split(" ")
    asked = {"_LIMEN_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    done = shell.run(env=asked)
    assert done.out.split() == offered


def test_a_reader_who_has_seen_enough_ends_the_command_quietly(shell: Shell) -> None:
    with subprocess.Popen(
        [shell.limen, "config", "show"],
        env=dict(shell.home.env),
        cwd=shell.home.path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait() == 141
        assert not process.stderr.read()


def test_an_unforeseen_failure_is_one_line_and_shows_its_traceback_only_when_asked(shell: Shell) -> None:
    # A shell whose folder is gone: no command foresees that.
    script = 'mkdir gone; cd gone; rmdir "$PWD"; exec "$0" logs'

    def run(**more: str) -> "subprocess.CompletedProcess[str]":
        words = ["sh", "-c", script, str(shell.limen)]
        env = {**shell.home.env, **more}
        return subprocess.run(words, env=env, cwd=shell.home.path, capture_output=True, text=True, check=False)

    quiet, loud = run(), run(LIMEN_LOG_LEVEL="debug")
    assert quiet.returncode == loud.returncode == 1
    assert quiet.stderr.startswith("error: FileNotFoundError: ")
    assert quiet.stderr.splitlines()[1:] == ["fix: run it again with LIMEN_LOG_LEVEL=debug to see where, and report it"]
    assert "Traceback" in loud.stderr


@requirement("cli.light-start")
@pytest.mark.parametrize("line", ["--help", "healthcheck", "logs", "config check"])
def test_ordinary_commands_load_neither_pydantic_nor_the_sdk(shell: Shell, line: str) -> None:
    done = shell.run(*line.split(), env={"PYTHONPROFILEIMPORTTIME": "1"})
    loaded = {name.split(".")[0] for name in re.findall(r"\|\s*([\w.]+)$", done.err, re.MULTILINE)}
    assert "limen" in loaded
    assert not loaded & {"pydantic", "mcp", "httpx2", "uvicorn", "rich"}


@requirement("cli.light-start")
def test_serving_on_stdio_does_not_load_the_command_line_library(shell: Shell) -> None:
    done = shell.run("stdio", env={"PYTHONPROFILEIMPORTTIME": "1"})
    loaded = {name.split(".")[0] for name in re.findall(r"\|\s*([\w.]+)$", done.err, re.MULTILINE)}
    assert "limen" in loaded
    assert not loaded & {"typer", "rich", "pydantic", "mcp", "uvicorn", "yaml", "httpx2"}


def test_an_interrupt_ends_a_command_without_a_traceback(shell: Shell) -> None:
    shell.call(("tools/call", {"name": "search_local_context", "arguments": {"query": "road"}}))
    with shell.start("logs", "-f") as following:
        assert following.stdout is not None
        assert following.stderr is not None
        assert json.loads(following.stdout.readline())["status"] == "ok"
        following.send_signal(2)
        assert following.wait() == 130
        assert not following.stderr.read()
