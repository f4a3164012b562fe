"""A client on stdio is passed on to the hub that runs already, when it would have been the same hub."""

import asyncio
import json
import os
import signal
import stat
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from limen.transport.client import McpClient, open_client
from limen.transport.handshake import ClientProfile
from limen.transport.process import ChildChannel, ChildCommand, open_child
from tests.environment import Home
from tests.requirements import requirement

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(60)]

SETTINGS = {
    "servers": {"up": {"command": sys.executable, "args": ["-m", "limen.samples.server"]}},
    "toolsets": ["hub"],
    "tier": "write",
}


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """A settings file with one server."""
    path = tmp_path / "limen.json"
    path.write_text(json.dumps(SETTINGS))
    return path


@asynccontextmanager
async def serving(home: Home, limen_bin: Path, settings: Path) -> AsyncGenerator[ChildChannel]:
    """A hub that serves; it says so when all its doors are open."""
    argv = [str(limen_bin), "serve", "--port", "0", "--json", "--config", str(settings)]
    async with open_child(ChildCommand(argv, home.env), 1 << 22) as hub:
        async with asyncio.timeout(30):
            await hub.receive()
        yield hub


@asynccontextmanager
async def client_of(home: Home, limen_bin: Path, settings: Path, *options: str) -> AsyncGenerator[McpClient]:
    """A client that starts `limen stdio`."""
    argv = [str(limen_bin), "stdio", "--config", str(settings), *options]
    async with (
        open_child(ChildCommand(argv, home.env), 1 << 22) as channel,
        open_client(channel, ClientProfile("test", "1"), revisions=["2025-11-25"]) as client,
    ):
        yield client


async def called(client: McpClient) -> str:
    """What the server's echo answers."""
    await client.list_tools()
    result = json.loads(await client.call_tool("up__echo", b'{"text":"hello"}'))
    return result["content"][0]["text"]


def servers_running(hub: ChildChannel) -> int:
    """How many sample servers that hub has started."""
    children = Path(f"/proc/{hub.pid}/task/{hub.pid}/children").read_text().split()
    lines = [Path(f"/proc/{child}/cmdline").read_bytes() for child in children]
    return sum(b"limen.samples.server" in line for line in lines)


@requirement("gateway.attach")
async def test_clients_share_the_servers_of_the_hub_that_runs(home: Home, limen_bin: Path, settings: Path) -> None:
    async with serving(home, limen_bin, settings) as hub:
        mode = (home.path / "run" / "hub.sock").stat().st_mode
        assert stat.S_IMODE(mode) == 0o600
        async with (
            client_of(home, limen_bin, settings) as one,
            client_of(home, limen_bin, settings, "--tier", "read") as other,
        ):
            assert await called(one) == await called(other) == "hello"
            assert servers_running(hub) == 1


@requirement("gateway.attach")
async def test_a_client_that_wants_another_hub_gets_one_of_its_own(home: Home, limen_bin: Path, settings: Path) -> None:
    async with serving(home, limen_bin, settings) as hub:
        for options in (["--no-attach"], ["--tier", "admin"], ["--toolsets", "hub,memory"]):
            async with client_of(home, limen_bin, settings, *options) as client:
                assert await called(client) == "hello"
                assert servers_running(hub) == 0


@requirement("gateway.attach")
async def test_a_socket_that_was_left_behind_is_in_nobodys_way(home: Home, limen_bin: Path, settings: Path) -> None:
    async with serving(home, limen_bin, settings) as hub:
        sock = home.path / "run" / "hub.sock"
        os.kill(hub.pid, signal.SIGKILL)
    assert sock.exists()
    async with client_of(home, limen_bin, settings) as client:
        assert await called(client) == "hello"
    sock.unlink()
