"""A hub takes up a changed settings file while it runs; what did not change is not touched."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from limen.protocol.frames import Notification
from limen.transport.client import McpClient, SilentHost, open_client
from limen.transport.handshake import ClientProfile
from limen.transport.process import ChildCommand, open_child
from tests.environment import Home
from tests.requirements import requirement

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(60)]


class Listener(SilentHost):
    """Waits for the news that a list has changed."""

    def __init__(self) -> None:
        self.news: asyncio.Queue[str] = asyncio.Queue()

    def hear(self, notification: Notification, context: object) -> None:
        """Keep its method."""
        self.news.put_nowait(notification.method)

    async def hear_of_tools(self) -> None:
        """Wait until the list of tools has changed."""
        while await self.news.get() != "notifications/tools/list_changed":
            pass


def write(path: Path, **servers: str) -> None:
    """Settings with these servers, each the sample server under another mark."""
    entries = {
        name: {"command": sys.executable, "args": ["-m", "limen.samples.server"], "env": {"MARK": mark}}
        for name, mark in servers.items()
    }
    path.write_text(json.dumps({"servers": entries, "toolsets": ["hub"]}))


@asynccontextmanager
async def running(home: Home, limen_bin: Path, settings: Path) -> AsyncGenerator[tuple[McpClient, Listener]]:
    """A hub on stdio, and a client of it."""
    argv = [str(limen_bin), "stdio", "--config", str(settings)]
    listener = Listener()
    async with (
        open_child(ChildCommand(argv, home.env), 1 << 22) as channel,
        open_client(channel, ClientProfile("test", "1"), listener, revisions=["2025-11-25"]) as client,
    ):
        yield client, listener


async def tools(client: McpClient) -> list[str]:
    """The names of all tools of upstreams."""
    found = [json.loads(tool)["name"] for tool in await client.list_tools()]
    return [name for name in found if "__" in name]


@requirement("gateway.reload")
async def test_servers_come_and_go_with_the_settings_file(home: Home, limen_bin: Path, tmp_path: Path) -> None:
    settings = tmp_path / "limen.json"
    write(settings, one="a")
    async with running(home, limen_bin, settings) as (client, listener):
        async with asyncio.timeout(20):
            while await tools(client) != ["one__echo", "one__get_time"]:
                await listener.hear_of_tools()
        write(settings, one="a", two="b")
        async with asyncio.timeout(20):
            while len(await tools(client)) < 4:
                await listener.hear_of_tools()
        write(settings, two="b")
        async with asyncio.timeout(20):
            while await tools(client) != ["two__echo", "two__get_time"]:
                await listener.hear_of_tools()


@requirement("gateway.reload")
async def test_settings_that_cannot_be_read_change_nothing(home: Home, limen_bin: Path, tmp_path: Path) -> None:
    settings = tmp_path / "limen.json"
    write(settings, one="a")
    async with running(home, limen_bin, settings) as (client, listener):
        async with asyncio.timeout(20):
            while not await tools(client):
                await listener.hear_of_tools()
        settings.write_text('{"servers": ')
        await asyncio.sleep(2.5)
        assert await tools(client) == ["one__echo", "one__get_time"]
        assert b"still here" in await client.call_tool("one__echo", b'{"text":"still here"}')
