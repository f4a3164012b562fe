"""`limen serve`, `limen stdio`, `limen status` and `limen healthcheck`, as real programs."""

import json
import signal
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from limen import __version__
from tests.environment import Home
from tests.requirements import requirement
from tests.road.shell import HELLO, Shell, ask

SEARCH = ("tools/call", {"name": "search_local_context", "arguments": {"query": "road"}})


@pytest.fixture
def shell(limen_bin: Path, home: Home) -> Shell:
    return Shell(limen_bin, home)


@contextmanager
def a_hub(shell: Shell, *options: str) -> "Generator[tuple[subprocess.Popen[str], dict[str, Any]]]":
    """A hub on a port of its own, and what it said of itself on stdout."""
    with shell.start("serve", "--port", "0", *options) as process:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())


def port_of(said: dict[str, Any]) -> str:
    return said["url"].rsplit(":", 1)[1].partition("/")[0]


@requirement("cli.serve")
def test_serve_tells_programs_its_address_and_people_what_to_paste(shell: Shell) -> None:
    with a_hub(shell) as (hub, said):
        assert said == {"url": said["url"], "pid": hub.pid}
        hub.send_signal(signal.SIGTERM)
        assert hub.stderr is not None
        told = hub.stderr.read()
        assert hub.wait() == 0
    assert f"claude mcp add --transport http limen {said['url']}" in told
    assert f'"url": "{said["url"]}"' in told
    assert f'"command": "{shell.limen}"' in told
    assert '"args": ["stdio"]' in told


@requirement("cli.serve")
def test_the_block_to_paste_starts_the_same_hub(shell: Shell, tmp_path: Path) -> None:
    settings = tmp_path / "mine.yaml"
    settings.write_text("tier: write\n")
    with a_hub(shell, "--config", str(settings), "--tier", "admin") as (hub, _):
        hub.send_signal(signal.SIGINT)
        assert hub.stderr is not None
        told = hub.stderr.read()
        assert hub.wait() == 0
    block = json.loads(told.split("over stdio:\n")[1])["mcpServers"]["limen"]
    assert block["args"] == ["stdio", "--tier", "admin", "--config", str(settings)]
    assert block["env"] == {"LIMEN_HOME": str(shell.home.path)}


@requirement("cli.serve-port-taken")
def test_a_taken_port_is_an_error_that_names_the_fix(shell: Shell) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        done = shell.run("serve", "--port", port)
    assert done.code == 1
    assert not done.out
    assert port in done.err
    assert "--port" in done.err


@requirement("cli.healthcheck")
def test_a_healthcheck_of_a_running_hub_is_silent_and_succeeds(shell: Shell) -> None:
    with a_hub(shell) as (_, said):
        done = shell.run("healthcheck", "--port", port_of(said))
    assert (done.code, done.out, done.err) == (0, "", "")


@requirement("cli.healthcheck")
def test_a_healthcheck_without_a_hub_ends_with_4(shell: Shell, free_port: int) -> None:
    assert shell.run("healthcheck", "--port", str(free_port)).code == 4


@requirement("cli.healthcheck")
def test_a_healthcheck_of_something_else_ends_with_4(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        with shell.start("healthcheck", "--port", port) as asking:
            connection, _ = other.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
            assert asking.wait() == 4


@requirement("cli.status")
def test_status_of_a_running_hub_tells_what_it_serves(shell: Shell, free_port: int) -> None:
    shell.call(SEARCH)
    settings = shell.home.path / "limen.yaml"
    settings.write_text(f"server:\n  port: {free_port}\n")
    with shell.start("serve") as hub:
        assert hub.stdout is not None
        said = json.loads(hub.stdout.readline())
        done = shell.run("status")
    assert done.code == 0
    facts = done.data
    assert facts["running"] is True
    assert facts["url"] == said["url"]
    assert facts["version"] == __version__
    assert facts["config"] == str(settings)
    assert facts["state"] == str(shell.home.path / "state")
    assert facts["last_call"].endswith("Z")


@requirement("cli.status")
def test_status_without_a_hub_still_tells_where_things_are(shell: Shell, free_port: int) -> None:
    done = shell.run("status", "--json", env={"LIMEN_PORT": str(free_port)})
    assert done.code == 4
    assert done.data["running"] is False
    assert done.error["code"] == "unreachable"
    assert "limen serve" in done.error["facts"]["fix"]


def test_status_on_a_terminal_is_a_table(shell: Shell, free_port: int) -> None:
    done = shell.show("status", env={"LIMEN_PORT": str(free_port), "NO_COLOR": "1"})
    assert "running           no" in done.out


@requirement("cli.stdout-is-data")
def test_stdio_writes_only_the_protocol_to_stdout(shell: Shell) -> None:
    with shell.start("stdio", env={"LIMEN_LOG_LEVEL": "debug"}) as hub:
        assert ask(hub, 1, "initialize", HELLO)["result"]["serverInfo"]["name"] == "limen"
        assert not ask(hub, 2, *SEARCH)["result"]["isError"]
        assert hub.stdin is not None
        assert hub.stdout is not None
        hub.stdin.close()
        assert not hub.stdout.read()
        assert hub.wait() == 0


def test_options_of_stdio_mean_the_same_before_and_after_the_word(shell: Shell) -> None:
    (shell.home.path / "bad.yaml").write_text("tiers: read\n")
    before, after = shell.run("--config", "bad.yaml", "stdio"), shell.run("stdio", "--config=bad.yaml")
    assert before.code == after.code == 1
    assert before.err == after.err
    assert "`tier`" in after.err


def test_a_server_that_cannot_be_used_is_told_and_the_rest_is_served(shell: Shell) -> None:
    entry = "servers:\n  files:\n    command: npx\n    env: {TOKEN: '${NOT_SET_ANYWHERE}'}\n"
    (shell.home.path / "limen.yaml").write_text(entry)
    done = shell.run("stdio")
    assert done.code == 0
    assert done.err.startswith("warning: limen.yaml:4:")
    assert "NOT_SET_ANYWHERE" in done.err


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stopped_hub_has_kept_the_record_of_its_calls(shell: Shell, sent: signal.Signals, code: int) -> None:
    with shell.start("stdio") as hub:
        ask(hub, 1, "initialize", HELLO)
        ask(hub, 2, *SEARCH)
        hub.send_signal(sent)
        assert hub.wait() == code
        assert hub.stderr is not None
        assert not hub.stderr.read()
    assert [row["status"] for row in shell.run("logs").rows] == ["ok"]
