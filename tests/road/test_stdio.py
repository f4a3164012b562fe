"""`limen stdio` as a client starts it: a real process on real pipes."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.environment import Home
from tests.requirements import requirement

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
CALL = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "search_local_context", "arguments": {"query": "road"}},
}

pytestmark = pytest.mark.timeout(20)


def run(limen_bin: Path, home: Home, *frames: object) -> "subprocess.CompletedProcess[str]":
    lines = "".join(json.dumps(frame) + "\n" for frame in frames)
    return subprocess.run(
        [str(limen_bin), "stdio"], input=lines, env=home.env, capture_output=True, text=True, check=False
    )


@requirement("stdio.eof-ends")
def test_it_ends_well_when_its_input_closes_at_once(limen_bin: Path, home: Home) -> None:
    done = run(limen_bin, home)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@requirement("stdio.eof-ends")
def test_what_was_asked_before_the_input_closed_is_still_answered(limen_bin: Path, home: Home) -> None:
    done = run(limen_bin, home, INITIALIZE, CALL)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]


@requirement("stdio.eof-ends", "stateless.listen")
def test_an_open_listener_does_not_keep_it_from_ending(limen_bin: Path, home: Home) -> None:
    meta: dict[str, object] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    listen: dict[str, object] = {"_meta": meta, "notifications": {"toolsListChanged": True}}
    done = run(limen_bin, home, {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": listen})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["method"] == "notifications/subscriptions/acknowledged"
