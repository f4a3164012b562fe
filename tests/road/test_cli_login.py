"""`limen mcp login|logout`, at a terminal and without one, before a real authorization server."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.environment import Home
from tests.road.keyboard import sit_down
from tests.road.shell import Shell
from tests.servers.authority import Authority, authority

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def guarded(home: Home) -> Iterator[Authority]:
    with authority() as running:
        # It answers whatever it is asked with a result, `server/discover` too.
        settings = {"servers": {"guarded": {"url": running.url, "protocol": "2025-11-25"}}}
        (home.path / "limen.yaml").write_text(json.dumps(settings))
        yield running


@pytest.fixture
def shell(limen_bin: Path, home: Home) -> Shell:
    return Shell(limen_bin, home)


def test_signing_in_by_the_browser_opens_the_server_until_signing_out(
    guarded: Authority, shell: Shell, limen_bin: Path, home: Home
) -> None:
    locked = shell.run("mcp", "discover", "guarded", "--json")
    assert (locked.code, locked.error["code"]) == (3, "auth_required")
    assert locked.error["facts"]["fix"] == "limen mcp login guarded"
    [row] = [row for row in shell.run("mcp", "doctor").rows if row["check"] == "sign-in"]
    assert (row["mark"], row["fix"]) == ("fail", "limen mcp login guarded")
    with sit_down(limen_bin, home, "mcp", "login", "guarded") as person:
        person.wait_for("Sign in here:\n  ")
        person.wait_for("state=")
        [address] = re.findall(r"(http://\S+)\n", person.seen)
        httpx2.get(address, follow_redirects=True, trust_env=False)
        assert person.end()[0] == 0
    assert shell.run("mcp", "discover", "guarded").code == 0
    assert shell.run("mcp", "logout", "guarded").data["was_signed_in"] is True
    assert shell.run("mcp", "discover", "guarded").code == 3
    assert shell.run("mcp", "logout", "guarded").data["was_signed_in"] is False


def test_a_token_is_typed_unseen_where_there_is_no_other_way(
    guarded: Authority, shell: Shell, limen_bin: Path, home: Home
) -> None:
    guarded.has_registration = guarded.has_metadata = False
    guarded.access["t0ken-by-hand"] = "read"
    with sit_down(limen_bin, home, "mcp", "login", "guarded") as person:
        person.wait_for("Token (it is not shown):")
        person.type("t0ken-by-hand")
        assert person.end()[0] == 0
        assert "t0ken" not in person.seen
    assert shell.run("mcp", "discover", "guarded").code == 0
    kept = [path for path in home.path.rglob("*") if path.is_file() and b"t0ken-by-hand" in path.read_bytes()]
    assert kept == []


def test_without_a_terminal_no_token_can_be_given(guarded: Authority, shell: Shell) -> None:
    guarded.has_registration = guarded.has_metadata = False
    done = shell.run("mcp", "login", "guarded", "--json")
    assert done.code == 3
    assert '"code":"auth_required"' in done.err
