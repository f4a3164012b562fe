"""`limen logs` and `limen audit verify` on what real calls left behind."""

import json
import sqlite3
from pathlib import Path

import pytest

from tests.environment import Home
from tests.requirements import requirement
from tests.road.shell import Shell

FOUND = ("tools/call", {"name": "search_local_context", "arguments": {"query": "road"}})
BAD = ("tools/call", {"name": "search_local_context", "arguments": {"no_such": 1}})
HOSTILE = ("tools/call", {"name": "\x1b[2J\u202egood\u200b\nname"})
READ = ("resources/read", {"uri": "limen://context/help"})


@pytest.fixture
def shell(limen_bin: Path, home: Home) -> Shell:
    return Shell(limen_bin, home)


def test_no_calls_is_no_error(shell: Shell) -> None:
    assert (shell.run("logs").code, shell.run("logs").out) == (0, "")
    assert "no calls" in shell.show("logs").err


@requirement("audit.logs")
def test_a_call_over_stdio_is_in_the_log(shell: Shell) -> None:
    shell.call(FOUND)
    [row] = shell.run("logs").rows
    assert (row["method"], row["server"], row["name"], row["status"]) == (
        "tools/call",
        "hub",
        "search_local_context",
        "ok",
    )
    assert row["subject"].startswith("local:")
    assert row["client"].startswith("shell")


@requirement("audit.logs")
def test_calls_are_filtered(shell: Shell) -> None:
    shell.call(FOUND, BAD, HOSTILE, READ)

    def names(*options: str) -> list[str]:
        return [f"{row['method']} {row['status']}" for row in shell.run("logs", *options).rows]

    everything = ["tools/call ok", "tools/call tool_error", "tools/call not_found", "resources/read ok"]
    assert names() == everything
    assert names("--limit", "1") == everything[-1:]
    assert names("--errors") == everything[1:3]
    assert names("--method", "resources/*") == everything[3:]
    assert names("--tool", "search_*") == everything[:2]
    assert names("--server", "hub") == [*everything[:2], everything[3]]
    assert names("--identity", "nobody") == []
    assert names("--identity", "local:*", "--since", "1h") == everything
    assert names("--since", "2999-01-01") == []
    assert names("--since", "1970-01-02") == names("--since", "1e9d") == everything


@requirement("audit.logs", "cli.table-or-json")
def test_a_terminal_of_80_columns_gets_a_table_that_fits(shell: Shell) -> None:
    shell.call(FOUND, BAD, HOSTILE, READ)
    lines = shell.show("logs", env={"NO_COLOR": "1"}).out.splitlines()
    assert lines[0].split() == ["TIME", "STATUS", "MS", "METHOD", "SERVER", "NAME"]
    assert len(lines) == 5
    assert all(len(line) <= 80 for line in lines)
    assert "search_local_context" in lines[1]


@requirement("audit.logs")
def test_a_wide_terminal_also_shows_who_and_why(shell: Shell) -> None:
    shell.call(BAD)
    lines = shell.show("logs", env={"NO_COLOR": "1"}, columns=140).out.splitlines()
    assert lines[0].split() == ["TIME", "STATUS", "MS", "IDENTITY", "METHOD", "SERVER", "NAME", "CODE"]
    assert lines[1].endswith("invalid_arguments")


def test_text_from_outside_cannot_play_with_the_terminal(shell: Shell) -> None:
    shell.call(HOSTILE)
    shown = shell.show("logs", env={"NO_COLOR": "1"}, columns=140).out
    assert r"\x1b[2J\u202egood\u200b\nname" in shown
    assert not set(shown) & set("\x1b\u202e\u200b")


@requirement("audit.logs")
def test_following_shows_what_was_and_what_comes(shell: Shell) -> None:
    shell.call(FOUND)
    with shell.start("logs", "-f") as following:
        assert following.stdout is not None
        assert json.loads(following.stdout.readline())["name"] == "search_local_context"
        shell.call(READ)
        assert json.loads(following.stdout.readline())["name"] == "limen://context/help"


@requirement("audit.logs")
def test_following_can_start_before_the_first_call(shell: Shell) -> None:
    with shell.start("logs", "--follow", "--method", "tools/*") as following:
        assert following.stdout is not None
        shell.call(READ, FOUND)
        assert json.loads(following.stdout.readline())["method"] == "tools/call"


@requirement("audit.chained")
def test_an_untouched_trail_verifies(shell: Shell) -> None:
    shell.call(FOUND, READ)
    done = shell.run("audit", "verify")
    assert done.code == 0
    assert done.data["ok"] is True
    assert done.data["rows"] == 4
    assert len(done.data["head"]) == 64
    assert "4 rows" in shell.show("audit", "verify").out


@requirement("audit.chained", "cli.exit-codes")
def test_a_changed_row_fails_and_is_named(shell: Shell) -> None:
    shell.call(FOUND, READ)
    db = sqlite3.connect(shell.home.path / "state" / "hub.db")
    with db:
        db.execute("update audit set body = replace(body, 'local:', 'other:') where seq = 3")
    db.close()
    done = shell.run("audit", "verify", "--json")
    assert done.code == 1
    assert done.error["code"] == "audit_broken"
    assert done.error["facts"]["seq"] == 3
    assert "audit row 3" in shell.run("audit", "verify").err
