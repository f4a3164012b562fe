"""A hub whose only upstream is the fixture server on the official SDK, and the server itself over HTTP."""

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.environment import ROOT, child_environment
from tests.servers.everything.running import Hub

COMMAND = [sys.executable, "-m", "tests.servers.sdk_everything"]
STOP_S = 10
READY_S = 20.0
LIST: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/list",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}


def stdio_entry(**more: Any) -> dict[str, Any]:
    """The server as a child of the hub, under its own names."""
    program, *args = COMMAND
    return {"command": program, "args": args, "env": {"PYTHONPATH": str(ROOT)}, "expose": "bare", **more}


@contextmanager
def http_entry(home: Path, **more: Any) -> Generator[dict[str, Any]]:
    """The server at a port of its own, for as long as this is open."""
    home.mkdir(parents=True, exist_ok=True)
    env = child_environment(home) | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen([*COMMAND, "--http"], env=env, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield {"url": server.stdout.readline().strip(), "expose": "bare", **more}
        finally:
            server.terminate()
            try:
                server.wait(STOP_S)
            except subprocess.TimeoutExpired:
                server.kill()


@contextmanager
def hub_before(limen: Path, home: Path, servers: Mapping[str, Any], *expected: str, **more: Any) -> Generator[str]:
    """`limen serve` with these upstreams and no tools of its own; gives its URL once the expected tools are listed."""
    settings: dict[str, Any] = {"toolsets": [], "log": {"level": "info"}, "servers": servers, **more}
    with Hub.prepare(limen, home, settings).serving() as url:
        wait_for_tools(url, *(expected or ("test_simple_text",)))
        yield url


def wait_for_tools(url: str, *expected: str) -> None:
    """Ask for the list until upstreams that start slowly are in it."""
    deadline = time.monotonic() + READY_S
    while not set(expected) <= set(_names(url)):
        assert time.monotonic() < deadline, f"{expected} never listed"
        time.sleep(0.05)


def _names(url: str) -> list[str]:
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/list",
    }
    request = urllib.request.Request(url, json.dumps(LIST).encode(), headers)
    with urllib.request.urlopen(request, timeout=READY_S) as answer:
        listed = json.loads(answer.read())
    return [tool["name"] for tool in listed["result"]["tools"]]
