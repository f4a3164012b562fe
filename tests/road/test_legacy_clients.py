"""Clients that know only the older HTTP+SSE are served when the settings say so; whoever does not read is let go."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import ClientSession
from mcp.client.sse import sse_client

from limen.transport.process import ChildCommand, open_child
from tests.environment import Home
from tests.requirements import requirement

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(60)]


@asynccontextmanager
async def serving(home: Home, limen_bin: Path, *, legacy: bool) -> AsyncGenerator[str]:
    """A hub, and its address."""
    settings = home.path / "legacy.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps({"toolsets": ["hub"], "server": {"legacy_sse": legacy, "port": 0}}))
    argv = [str(limen_bin), "serve", "--json", "--config", str(settings)]
    async with open_child(ChildCommand(argv, home.env), 1 << 22) as hub:
        ready = await hub.receive()
        assert ready is not None, hub.stderr_tail
        yield json.loads(ready)["url"].removesuffix("/mcp")


@requirement("gateway.legacy-sse")
async def test_the_official_client_of_the_older_transport_is_served(home: Home, limen_bin: Path) -> None:
    async with (
        serving(home, limen_bin, legacy=True) as url,
        sse_client(f"{url}/sse") as streams,
        ClientSession(*streams) as client,
    ):
        await client.initialize()
        listed = await client.list_tools()
        assert "search_local_context" in [tool.name for tool in listed.tools]


@requirement("gateway.legacy-sse")
async def test_nobody_is_served_so_unless_the_settings_say_it(home: Home, limen_bin: Path) -> None:
    async with serving(home, limen_bin, legacy=False) as url, httpx2.AsyncClient() as client:
        assert (await client.get(f"{url}/sse")).status_code == 404


@requirement("gateway.legacy-sse")
async def test_a_message_without_an_open_stream_is_refused(home: Home, limen_bin: Path) -> None:
    async with serving(home, limen_bin, legacy=True) as url, httpx2.AsyncClient() as client:
        refused = await client.post(f"{url}/messages?session_id=guessed", json={"jsonrpc": "2.0", "method": "x"})
        assert refused.status_code == 404
        assert refused.json()["error"]["data"]["code"] == "session_not_found"


@requirement("gateway.legacy-sse")
async def test_the_hub_forgets_a_client_that_is_gone(home: Home, limen_bin: Path) -> None:
    async with serving(home, limen_bin, legacy=True) as url, httpx2.AsyncClient() as client:
        async with client.stream("GET", f"{url}/sse") as stream:
            lines = stream.aiter_lines()
            assert await anext(lines) == "event: endpoint"
            place = (await anext(lines)).removeprefix("data: ")
        message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        async with asyncio.timeout(20):
            while (await client.post(f"{url}{place}", json=message)).status_code != 404:  # noqa: ASYNC110 - no event tells
                await asyncio.sleep(0.05)
