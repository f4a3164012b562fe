"""A client that nobody here wrote uses every memory tool, over stdio and HTTP, and gets what the contract says."""

import http.server
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters, stdio_client, types

from limen.shapes import is_object
from tests.requirements import requirement
from tests.road import seedshapes
from tests.servers.everything.running import Hub

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]

TOOLS = {
    "memory_search",
    "memory_recall",
    "memory_remember",
    "memory_ingest_file",
    "memory_ingest_url",
    "memory_create_brain",
    "memory_list_brains",
}
PAGE = b"""<html><head><title>Tides</title></head>
<body><nav>Home</nav><p>Spring tides follow the full moon.</p></body></html>"""


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def page() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/tides.html"
        server.shutdown()


@dataclass(frozen=True, slots=True)
class Peer:
    """The official Python SDK's client on one transport."""

    hub: Hub
    transport: str
    log: Path

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[Client, None]:
        if self.transport == "http":
            with self.hub.serving() as url:
                async with Client(url, read_timeout_seconds=20) as client:
                    yield client
            return
        command, *args = self.hub.stdio()
        with self.log.open("w", encoding="utf-8") as errlog:
            server = stdio_client(StdioServerParameters(command=command, args=args, env=dict(self.hub.env)), errlog)
            async with Client(server, read_timeout_seconds=20) as client:
                yield client


@pytest.fixture(params=["stdio", "http"])
def peer(request: pytest.FixtureRequest, limen_bin: Path, tmp_path: Path, page: str) -> Peer:
    settings = {
        "toolsets": ["memory"],
        "tier": "write",
        "allowed_file_roots": [str(tmp_path / "in")],
        "memory": {"allowed_hosts": [urlsplit(page).netloc]},
    }
    (tmp_path / "in").mkdir()
    return Peer(Hub.prepare(limen_bin, tmp_path / "home", settings), request.param, tmp_path / "stderr.log")


def checked(result: types.CallToolResult, schema: dict[str, Any]) -> Any:
    assert not result.is_error, result.content
    assert isinstance(result.content[0], types.TextContent)
    assert result.content[0].text
    faults = [fault.message for fault in Draft202012Validator(schema).iter_errors(result.structured_content)]  # pyright: ignore[reportUnknownMemberType] - its stub is loose
    assert not faults
    return result.structured_content


def code_of(result: types.CallToolResult) -> str:
    assert result.is_error
    assert is_object(result.structured_content)
    return result.structured_content["code"]


@requirement("memory.foreign-client")
async def test_all_seven_tools_answer_as_the_contract_says(peer: Peer, page: str, tmp_path: Path) -> None:
    (tmp_path / "in" / "bees.md").write_text("# Bees\n\nThe hive by the river swarms in May.\n", encoding="utf-8")
    async with peer.connect() as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        brain = checked(await client.call_tool("memory_create_brain", {"name": "Field notes"}), seedshapes.BRAIN)
        listed = checked(await client.call_tool("memory_list_brains", {}), seedshapes.BRAINS)
        kept = checked(
            await client.call_tool(
                "memory_remember",
                {"content": "# Lighthouse\n\nThe keeper is called Maren.", "tags": ["coast", "people"]},
            ),
            seedshapes.DOCUMENT,
        )
        file = checked(await client.call_tool("memory_ingest_file", {"path": "bees.md"}), seedshapes.INGEST)
        again = checked(await client.call_tool("memory_ingest_file", {"path": "bees.md"}), seedshapes.INGEST)
        fetched = checked(await client.call_tool("memory_ingest_url", {"url": page}), seedshapes.INGEST_URL)
        found = checked(
            await client.call_tool("memory_search", {"query": "who keeps the lighthouse"}), seedshapes.SEARCH
        )
        tides = checked(await client.call_tool("memory_search", {"query": "spring tides"}), seedshapes.SEARCH)
        recalled = checked(await client.call_tool("memory_recall", {"query": "river hive"}), seedshapes.SEARCH)
        in_session = checked(
            await client.call_tool("memory_recall", {"query": "river hive", "session_id": "ses_1"}),
            seedshapes.SESSION_RECALL,
        )
    assert [item["id"] for item in listed["items"]] == [brain["id"]]
    assert (kept["title"], kept["metadata"]["tags"], kept["brain_id"]) == ("Lighthouse", "coast,people", brain["id"])
    assert (file["reused"], again["reused"], again["document_id"]) == (False, True, file["document_id"])
    assert file["chunk_count"] == file["embedded_count"] == 1
    assert found["hits"][0]["path"] == kept["path"]
    assert tides["hits"][0]["path"] == fetched["result"]["path"]
    assert recalled["hits"][0]["path"] == in_session["chunks"][0]["path"] == file["path"]


@requirement("memory.error-codes")
async def test_failures_are_results_with_the_contracts_codes(peer: Peer, tmp_path: Path) -> None:
    with (tmp_path / "in" / "huge.md").open("wb") as huge:
        huge.truncate(25 * 1024 * 1024 + 1)
    async with peer.connect() as client:
        nowhere = await client.call_tool("memory_search", {"query": "x", "brain": "nowhere"})
        nothing = await client.call_tool("memory_search", {"query": "x"})
        large = await client.call_tool("memory_ingest_file", {"path": "huge.md"})
        outside = await client.call_tool("memory_ingest_file", {"path": "/etc/hostname"})
        private = await client.call_tool("memory_ingest_url", {"url": "http://10.0.0.1/"})
        bad = await client.call_tool("memory_search", {"query": "", "top_k": 101})
    codes = [code_of(result) for result in (nowhere, nothing, large, outside, private)]
    assert codes == ["no_brain", "no_brain", "file_too_large", "denied", "fetch_refused"]
    assert bad.is_error
