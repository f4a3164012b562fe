"""Clients that nobody here wrote, over stdio and HTTP, in every mode they have: all that a client does must work."""

import json
import subprocess
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPDeprecationWarning, MCPError, StdioServerParameters, stdio_client, types
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged

from tests.environment import Node
from tests.requirements import requirement
from tests.servers.everything.reading import WATCHED
from tests.servers.everything.running import Hub

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(20)]

INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
LEGACY, MODERN = "2025-11-25", "2026-07-28"


@pytest.fixture(scope="module")
def hub(limen_bin: Path, tmp_path_factory: pytest.TempPathFactory) -> Hub:
    return Hub.prepare(limen_bin, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def endpoint(hub: Hub) -> Iterator[str]:
    with hub.serving() as url:
        yield url


@dataclass(frozen=True, slots=True)
class Peer:
    """The official Python SDK's client, on one transport and in one mode."""

    hub: Hub
    endpoint: str | None
    mode: str
    journal: Path

    @property
    def version(self) -> str:
        """What it ends up speaking."""
        return LEGACY if self.mode == "legacy" else MODERN

    @asynccontextmanager
    async def connect(self, **options: Any) -> AsyncGenerator[Client, None]:
        """A connected client; options are callbacks and such."""
        with self.journal.open("w", encoding="utf-8") as errlog:
            server = self.endpoint or stdio_client(self._command(), errlog)
            async with Client(server, mode=self.mode, read_timeout_seconds=10, **options) as client:
                yield client

    def _command(self) -> StdioServerParameters:
        command, *args = self.hub.stdio()
        return StdioServerParameters(command=command, args=args, env=dict(self.hub.env))


@pytest.fixture(params=["auto", "legacy", MODERN])
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["stdio", "http"])
def peer(request: pytest.FixtureRequest, hub: Hub, mode: str, tmp_path: Path) -> Peer:
    endpoint = request.getfixturevalue("endpoint") if request.param == "http" else None
    return Peer(hub, endpoint, mode, tmp_path / "stderr.log")


def text_of(result: types.CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


async def fill_in(_: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    assert isinstance(params, types.ElicitRequestFormParams)
    known = {"name": "Ada", "username": "ada", "email": "ada@example.com", "color": "green", "context": "bees"}
    return types.ElicitResult(
        action="accept", content={field: known[field] for field in params.requested_schema["properties"]}
    )


async def dream_up(_: ClientRequestContext, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    answer = types.TextContent(type="text", text=f"{len(params.messages)} message read")
    return types.CreateMessageResult(role="assistant", content=answer, model="none")


async def tell_roots(_: ClientRequestContext) -> types.ListRootsResult:
    return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///garden"}]})


ABLE = {"elicitation_callback": fill_in, "sampling_callback": dream_up, "list_roots_callback": tell_roots}


@requirement("peers.python-sdk", "stdio.both-revisions")
async def test_the_sdk_connects_and_lists_everything(peer: Peer) -> None:
    async with peer.connect() as client:
        assert client.protocol_version == peer.version
        tools = {tool.name for tool in (await client.list_tools()).tools}
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        resources = {str(resource.uri) for resource in (await client.list_resources()).resources}
        templates = {template.uri_template for template in (await client.list_resource_templates()).resource_templates}
    assert {"search_local_context", "add_numbers"} <= tools
    assert {"summarize_local_context", "test_prompt_with_arguments"} <= prompts
    assert {"limen://context/help", "test://static-text"} <= resources
    assert {"limen://context/search{?query,limit}", "test://template/{id}/data"} <= templates


@requirement("peers.python-sdk")
async def test_the_sdk_calls_tools(peer: Peer) -> None:
    async with peer.connect() as client:
        added = await client.call_tool("add_numbers", {"a": 2, "b": 3})
        failed = await client.call_tool("test_error_handling")
        mixed = await client.call_tool("test_multiple_content_types")
        routed = await client.call_tool("test_x_mcp_header", {"region": "Zürich"})
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("no_such_tool")
    assert (text_of(added), added.structured_content, added.is_error) == ("5", {"sum": 5}, False)
    assert failed.is_error
    assert [block.type for block in mixed.content] == ["text", "image", "resource"]
    assert text_of(routed) == "routed by 'Zürich'"
    assert unknown.value.code == -32602


@requirement("peers.python-sdk")
async def test_the_sdk_reads_resources(peer: Peer) -> None:
    async with peer.connect() as client:
        [plain] = (await client.read_resource("test://static-text")).contents
        [binary] = (await client.read_resource("test://static-binary")).contents
        [made] = (await client.read_resource("test://template/7/data")).contents
        with pytest.raises(MCPError) as unknown:
            await client.read_resource("test://no-such-thing")
    assert isinstance(plain, types.TextResourceContents)
    assert plain.text == "text that never changes"
    assert isinstance(binary, types.BlobResourceContents)
    assert binary.mime_type == "image/png"
    assert isinstance(made, types.TextResourceContents)
    assert json.loads(made.text)["id"] == "7"
    assert unknown.value.code == (-32002 if peer.version == LEGACY else -32602)


@requirement("peers.python-sdk")
async def test_the_sdk_gets_prompts_and_completions(peer: Peer) -> None:
    prompt = types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
    template = types.ResourceTemplateReference(type="ref/resource", uri="test://template/{id}/data")
    async with peer.connect() as client:
        [message] = (await client.get_prompt("test_prompt_with_arguments", {"arg1": "hills", "arg2": "dales"})).messages
        words = await client.complete(prompt, {"name": "arg1", "value": "par"})
        ids = await client.complete(template, {"name": "id", "value": "12"})
    assert isinstance(message.content, types.TextContent)
    assert message.content.text == "Compare hills with dales."
    assert words.completion.values == ["paris", "park", "party"]
    assert ids.completion.values == ["12", "123"]


@requirement("peers.python-sdk")
async def test_the_sdk_hears_progress(peer: Peer) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with peer.connect() as client:
        await client.call_tool("test_tool_with_progress", progress_callback=hear)
    assert heard == [(0, 100, "0 of 100"), (50, 100, "50 of 100"), (100, 100, "100 of 100")]


@requirement("peers.python-sdk")
@pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.{MCPDeprecationWarning.__name__}")
async def test_the_sdk_hears_log_messages_of_the_level_it_wants(peer: Peer) -> None:
    heard: list[object] = []

    async def hear(params: types.LoggingMessageNotificationParams) -> None:
        if params.logger == "everything":
            heard.append(params.data)

    async with peer.connect(logging_callback=hear, log_level="info") as client:
        await client.call_tool("test_tool_with_logging")
    assert heard == ["begun", "half way", "done"]
    heard.clear()
    async with peer.connect(logging_callback=hear, log_level="error") as client:
        if peer.version == LEGACY:
            await client.set_logging_level("error")  # pyright: ignore[reportDeprecated] -- this revision's way
        await client.call_tool("test_tool_with_logging")
    assert heard == []


@requirement("peers.python-sdk", "stream.live")
async def test_the_sdk_hears_that_its_session_is_ready(hub: Hub, endpoint: str, tmp_path: Path) -> None:
    ready = anyio.Event()

    async def hear(params: types.LoggingMessageNotificationParams) -> None:
        if (params.logger, params.data) == ("limen", "session ready"):
            ready.set()

    async with Peer(hub, endpoint, "legacy", tmp_path / "stderr.log").connect(logging_callback=hear):
        await ready.wait()


@requirement("peers.python-sdk")
async def test_the_sdk_answers_what_a_tool_asks(peer: Peer) -> None:
    async with peer.connect(**ABLE) as client:
        filled = await client.call_tool("test_elicitation", {"message": "Who?"})
        sampled = await client.call_tool("test_sampling", {"prompt": "Say something."})
        roots = await client.call_tool("test_input_required_result_list_roots")
        several = await client.call_tool("test_input_required_result_multiple_inputs")
        rounds = await client.call_tool("test_input_required_result_multi_round")
        prompt = await client.get_prompt("test_input_required_result_prompt")
    assert text_of(filled) == 'action=accept, content={"email": "ada@example.com", "username": "ada"}'
    assert text_of(sampled) == "the model said: 1 message read"
    assert text_of(roots) == "roots: file:///garden"
    assert text_of(several) == "1 message read Ada, 1 roots"
    assert text_of(rounds) == "Ada likes green"
    assert isinstance(prompt.messages[0].content, types.TextContent)
    assert prompt.messages[0].content.text == "Consider this: bees"


@requirement("peers.python-sdk")
async def test_a_tool_that_asks_a_client_without_answers_is_refused(peer: Peer) -> None:
    async with peer.connect() as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("test_missing_capability")
    assert refused.value.code == -32021
    assert refused.value.data["requiredCapabilities"] == {"sampling": {}}


@requirement("peers.python-sdk")
async def test_a_call_the_sdk_gives_up_is_cancelled(peer: Peer) -> None:
    begun = anyio.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        assert (progress, total, message) == (0, 1, "waiting")
        begun.set()

    async with peer.connect() as client:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: client.call_tool("test_wait", progress_callback=hear))
            await begun.wait()
            group.cancel_scope.cancel()
        # It returns when the wait was cancelled in the hub, and only then.
        assert text_of(await client.call_tool("test_wait_witness")) == "cancelled"


@requirement("peers.python-sdk")
@pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.{MCPDeprecationWarning.__name__}")
async def test_the_sdk_hears_that_lists_and_resources_changed(peer: Peer) -> None:
    told, heard = anyio.create_memory_object_stream[IncomingMessage](16)

    async def hear(message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification | types.ResourceUpdatedNotification):
            await told.send(message)

    async with told, heard, peer.connect(message_handler=hear) as client:
        if peer.version == LEGACY:
            await client.subscribe_resource(WATCHED)  # pyright: ignore[reportDeprecated] -- this revision's way
            await client.call_tool("test_trigger_tool_change")
            assert isinstance(await heard.receive(), types.ToolListChangedNotification)
            await client.call_tool("test_trigger_resource_update")
            assert isinstance(await heard.receive(), types.ResourceUpdatedNotification)
        else:
            async with client.listen(tools_list_changed=True, resource_subscriptions=[WATCHED]) as news:
                await client.call_tool("test_trigger_tool_change")
                assert isinstance(await anext(news), ToolsListChanged)
                await client.call_tool("test_trigger_resource_update")
                assert isinstance(await anext(news), ResourceUpdated)


@requirement("peers.python-sdk", "peers.side-by-side")
async def test_clients_of_both_revisions_are_served_at_once(hub: Hub, endpoint: str, tmp_path: Path) -> None:
    said: dict[str, list[str]] = {"legacy": [], MODERN: []}

    async def talk(mode: str) -> None:
        peer = Peer(hub, endpoint, mode, tmp_path / f"{mode}.log")
        async with peer.connect(**ABLE) as client:
            assert client.protocol_version == peer.version
            for tool in ("test_input_required_result_multi_round", "test_tool_with_progress", "test_simple_text"):
                said[mode].append(text_of(await client.call_tool(tool)))

    async with anyio.create_task_group() as group:
        for mode in said:
            group.start_soon(talk, mode)
    assert said["legacy"] == said[MODERN] == ["Ada likes green", "reported three times", "plain text, as asked"]


def inspect(node: Node, hub: Hub, target: list[str], era: str, *options: str) -> dict[str, Any]:
    """What the Inspector's command line prints as the result of one method."""
    variables = [word for name, value in hub.env.items() for word in ("-e", f"{name}={value}")]
    done = subprocess.run(
        [*node.script(INSPECTOR), "--cli", *target, *variables, "--protocol-era", era, "--format", "json", *options],
        env=dict(hub.env),
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["result"]


@pytest.fixture(params=["stdio", "http"])
def target(request: pytest.FixtureRequest, hub: Hub) -> list[str]:
    if request.param == "stdio":
        return [*hub.stdio(), "--transport", "stdio"]
    return [request.getfixturevalue("endpoint"), "--transport", "http"]


@requirement("peers.inspector")
@pytest.mark.needs_node
@pytest.mark.timeout(90)
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_lists_calls_and_reads(node: Node, hub: Hub, target: list[str], era: str) -> None:
    def ask(method: str, *options: str) -> dict[str, Any]:
        return inspect(node, hub, target, era, "--method", method, *options)

    assert "add_numbers" in {tool["name"] for tool in ask("tools/list")["tools"]}
    sum_ = ask("tools/call", "--tool-name", "add_numbers", "--tool-arg", "a=2", "b=3")
    assert sum_["structuredContent"] == {"sum": 5}
    assert "test://static-text" in {resource["uri"] for resource in ask("resources/list")["resources"]}
    [contents] = ask("resources/read", "--uri", "test://static-text")["contents"]
    assert contents["text"] == "text that never changes"
    assert "test_simple_prompt" in {prompt["name"] for prompt in ask("prompts/list")["prompts"]}
