"""Servers that still speak the older HTTP+SSE are reached like any other."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from limen.errors import ChannelClosed, ProtocolError, Unreachable
from limen.transport.client import open_client
from limen.transport.handshake import ClientProfile
from limen.transport.httpendpoint import HttpOptions
from limen.transport.legacysse import open_legacy_sse
from limen.transport.process import ChildChannel, ChildCommand, open_child
from tests.environment import ROOT
from tests.requirements import requirement

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(60)]

OPTIONS = HttpOptions(headers={}, limit_bytes=1 << 20)
PROFILE = ClientProfile("test", "1")


@asynccontextmanager
async def older_server() -> AsyncGenerator[tuple[str, ChildChannel]]:
    """A server of the official SDK, and its address."""
    command = ChildCommand([sys.executable, "-m", "tests.servers.sdk_sse"], {"PATH": "/usr/bin:/bin"}, ROOT)
    async with open_child(command, 1 << 20) as child:
        address = await child.receive()
        assert address is not None, child.stderr_tail
        yield address.decode().strip(), child


async def reach(url: str) -> None:
    """Wait until a server listens; it says its address a moment before."""
    for _ in range(200):
        try:
            async with open_legacy_sse(url, OPTIONS):
                return
        except Unreachable:
            await asyncio.sleep(0.05)
    raise AssertionError("the server never listened")


@requirement("gateway.legacy-sse")
async def test_a_server_of_the_official_sdk_answers_over_the_older_transport() -> None:
    async with older_server() as (url, child):
        await reach(url)
        async with (
            open_legacy_sse(url, OPTIONS) as channel,
            open_client(channel, PROFILE, revisions=["2025-11-25"]) as client,
        ):
            assert [json.loads(tool)["name"] for tool in await client.list_tools()] == ["echo"]
            answers = await asyncio.gather(
                *(client.call_tool("echo", json.dumps({"text": f"n{n}"}).encode()) for n in range(20))
            )
            assert [json.loads(answer)["content"][0]["text"] for answer in answers] == [f"n{n}" for n in range(20)]
            await child.aclose()
            with pytest.raises((ChannelClosed, Unreachable)):
                await client.call_tool("echo", b"{}")


@asynccontextmanager
async def saying(event: bytes) -> AsyncGenerator[str]:
    """A server whose stream begins with this."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + event)
        await writer.drain()
        await reader.read()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/sse"


@requirement("gateway.legacy-sse")
async def test_frames_are_never_sent_to_another_address_than_the_servers_own() -> None:
    async with saying(b"event: endpoint\ndata: https://elsewhere.example/messages\n\n") as url:
        with pytest.raises(ProtocolError, match="another address"):
            async with open_legacy_sse(url, OPTIONS):
                pass


@requirement("gateway.legacy-sse")
async def test_an_address_without_such_a_stream_says_so() -> None:
    with pytest.raises(Unreachable):
        async with open_legacy_sse("http://127.0.0.1:9/sse", OPTIONS):
            pass
