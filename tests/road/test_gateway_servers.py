"""Servers that nobody here wrote, behind Limen: what they offer and do arrives as they mean it, in both revisions."""

import json
import subprocess
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPDeprecationWarning, types
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.client.subscriptions import ResourceUpdated

from tests.environment import Node
from tests.requirements import requirement
from tests.servers.sdk_everything.running import hub_before

MODERN = "2026-07-28"
PACKAGE = "@modelcontextprotocol/server-{}/dist/index.js"
EVERYTHING = "everything__"

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.needs_node,
    pytest.mark.timeout(40),
    pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.{MCPDeprecationWarning.__name__}"),
]


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file and a repository in it, for the servers to work on."""
    folder = tmp_path_factory.mktemp("workshop")
    (folder / "note.txt").write_text("the kettle is on\n", "utf-8")
    for words in (
        ["init", "--quiet", "--initial-branch=main"],
        ["config", "user.email", "ada@example.com"],
        ["config", "user.name", "Ada"],
        ["add", "note.txt"],
        ["commit", "--quiet", "--message=Put the kettle on"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def endpoint(
    limen_bin: Path,
    node: Node,
    needs: Callable[[str], Path],
    workshop: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    home = tmp_path_factory.mktemp("home")

    def program(package: str, *args: str, **env: str) -> dict[str, Any]:
        command, script = node.script(PACKAGE.format(package))
        return {"command": command, "args": [script, *args], "env": env}

    servers = {
        "everything": program("everything", "stdio"),
        "files": program("filesystem", str(workshop)),
        "graph": program("memory", MEMORY_FILE_PATH=str(home / "graph.jsonl")),
        "git": {"command": str(needs("mcp-server-git")), "args": ["--repository", str(workshop)]},
        "time": {"command": str(needs("mcp-server-time")), "args": ["--local-timezone", "Europe/Vienna"]},
    }
    expected = [
        "everything__trigger-url-elicitation",
        "files__read_text_file",
        "graph__read_graph",
        "git__git_status",
        "time__convert_time",
    ]
    with hub_before(limen_bin, home, servers, *expected, allowed_file_roots=[str(workshop)]) as url:
        yield url


@dataclass(slots=True)
class Person:
    """Whoever sits at the client."""

    endpoint: str
    mode: str
    asked: list[str] = field(default_factory=list[str])
    pages: list[str] = field(default_factory=list[str])

    async def fill_in(self, _: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        """A form is filled in with its defaults and a name, a page is visited."""
        self.asked.append(params.message)
        if isinstance(params, types.ElicitRequestURLParams):
            self.pages.append(params.url)
            return types.ElicitResult(action="accept")
        fields: dict[str, dict[str, Any]] = params.requested_schema["properties"]
        known = {name: shape["default"] for name, shape in fields.items() if "default" in shape}
        return types.ElicitResult(action="accept", content={**known, "name": "Ada", "check": True})

    async def dream_up(
        self, _: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        """The model says how much it was asked for."""
        self.asked.append(params.system_prompt or "")
        answer = types.TextContent(text=f"at most {params.max_tokens} tokens")
        return types.CreateMessageResult(role="assistant", content=answer, model="none")

    @asynccontextmanager
    async def client(self, **options: Any) -> AsyncGenerator[Client]:
        """A client that can answer everything but has no roots."""
        able: dict[str, Any] = {"elicitation_callback": self.fill_in, "sampling_callback": self.dream_up}
        async with Client(self.endpoint, mode=self.mode, read_timeout_seconds=30, **{**able, **options}) as client:
            yield client


@pytest.fixture(params=["legacy", MODERN])
def person(request: pytest.FixtureRequest, endpoint: str) -> Person:
    return Person(endpoint, request.param)


def text_of(result: types.CallToolResult) -> str:
    """All text blocks of a result, which is no failure."""
    assert not result.is_error, result
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


PLAIN: dict[str, tuple[dict[str, Any], str]] = {
    "echo": ({"message": "hello"}, "hello"),
    "get-sum": ({"a": 2, "b": 3}, "5"),
    "get-tiny-image": ({}, "image"),
    "get-annotated-message": ({"messageType": "error", "includeImage": True}, "rror"),
    "get-env": ({}, "PATH"),
    "get-resource-links": ({"count": 2}, "2 resource links"),
    "get-resource-reference": ({"resourceType": "Text", "resourceId": 1}, "1"),
    "get-structured-content": ({"location": "Chicago"}, "temperature"),
    "gzip-file-as-resource": ({"name": "a.gz", "data": "data:text/plain,kettle", "outputType": "resource"}, ""),
    "get-roots-list": ({}, "workshop"),
    "toggle-simulated-logging": ({}, "simulated"),
    "toggle-subscriber-updates": ({}, "simulated"),
    "trigger-long-running-operation": ({"duration": 0.2, "steps": 2}, "completed"),
    "trigger-sampling-request": ({"prompt": "say", "maxTokens": 7}, "at most 7 tokens"),
    "trigger-elicitation-request": ({}, "Ada"),
    "trigger-url-elicitation": ({"url": "https://sign-in.example/"}, "accept"),
}
"""All its tools but one that only answers as a task, each with arguments and a part of what it says."""
ONLY_AS_TASK = {"simulate-research-query"}


@requirement("gateway.real-servers")
async def test_everything_lists_each_tool_prompt_resource_and_template(person: Person) -> None:
    async with person.client() as client:
        tools = {tool.name for tool in (await client.list_tools()).tools if tool.name.startswith(EVERYTHING)}
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        resources = {str(resource.uri) for resource in (await client.list_resources()).resources}
        templates = {template.uri_template for template in (await client.list_resource_templates()).resource_templates}
    assert tools == {EVERYTHING + name for name in PLAIN.keys() | ONLY_AS_TASK}
    names = ("simple-prompt", "args-prompt", "completable-prompt", "resource-prompt")
    assert {EVERYTHING + name for name in names} <= prompts
    assert f"{EVERYTHING}demo://resource/static/document/features.md" in resources
    assert {f"{EVERYTHING}demo://resource/dynamic/{kind}/{{resourceId}}" for kind in ("text", "blob")} <= templates


@requirement("gateway.real-servers")
@pytest.mark.parametrize("tool", PLAIN)
async def test_everything_answers_each_tool(person: Person, tool: str) -> None:
    arguments, said = PLAIN[tool]
    async with person.client() as client:
        result = await client.call_tool(EVERYTHING + tool, arguments)
    assert said in text_of(result)
    if tool == "get-tiny-image":
        assert [block.type for block in result.content] == ["text", "image", "text"]
    if tool == "get-structured-content":
        assert result.structured_content is not None


@requirement("gateway.real-servers")
async def test_everything_reports_its_progress(person: Person) -> None:
    heard: list[tuple[float, float | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total))

    arguments = {"duration": 0.3, "steps": 3}
    async with person.client() as client:
        await client.call_tool(f"{EVERYTHING}trigger-long-running-operation", arguments, progress_callback=hear)
    assert heard == [(1, 3), (2, 3), (3, 3)]


@requirement("gateway.real-servers")
async def test_everything_is_called_again_when_the_page_it_wants_visited_was(person: Person) -> None:
    arguments = {"url": f"https://sign-in.example/{person.mode}", "errorPath": True}
    async with person.client() as client:
        text = text_of(await client.call_tool(f"{EVERYTHING}trigger-url-elicitation", arguments))
    assert "accept" in text
    assert person.pages == ["https://modelcontextprotocol.io", arguments["url"]]


@requirement("gateway.real-servers")
async def test_everything_gives_its_prompts_and_completes_them_in_context(person: Person) -> None:
    reference = types.PromptReference(name=f"{EVERYTHING}completable-prompt")
    async with person.client() as client:
        simple = await client.get_prompt(f"{EVERYTHING}simple-prompt")
        with_city = await client.get_prompt(f"{EVERYTHING}args-prompt", {"city": "Graz"})
        with_resource = await client.get_prompt(
            f"{EVERYTHING}resource-prompt", {"resourceType": "Text", "resourceId": "1"}
        )
        departments = await client.complete(reference, {"name": "department", "value": "S"})
        people = await client.complete(
            reference, {"name": "name", "value": ""}, context_arguments={"department": "Sales"}
        )
    assert simple.messages
    assert "Graz" in str(with_city.messages)
    assert any(isinstance(message.content, types.EmbeddedResource) for message in with_resource.messages)
    assert departments.completion.values == ["Sales", "Support"]
    assert people.completion.values == ["David", "Eve", "Frank"]


@requirement("gateway.real-servers")
async def test_everything_lets_its_resources_be_read_and_watched(person: Person) -> None:
    told, heard = anyio.create_memory_object_stream[str](64)
    uri = f"{EVERYTHING}demo://resource/dynamic/text/7"

    async def hear(message: IncomingMessage) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            await told.send(message.params.uri)

    async def switch(client: Client, wanted: str) -> None:
        said = ""
        while not said.startswith(wanted):
            said = text_of(await client.call_tool(f"{EVERYTHING}toggle-subscriber-updates"))

    async with told, heard, person.client(message_handler=hear) as client:
        [static] = (await client.read_resource(f"{EVERYTHING}demo://resource/static/document/features.md")).contents
        [made] = (await client.read_resource(uri)).contents
        if person.mode != MODERN:
            await client.subscribe_resource(uri)  # pyright: ignore[reportDeprecated] -- this revision's way
            await switch(client, "Started")
            updated = await heard.receive()
        else:
            async with client.listen(resource_subscriptions=[uri]) as news:
                await switch(client, "Started")
                found = await anext(news)
                assert isinstance(found, ResourceUpdated)
                updated = found.uri
        await switch(client, "Stopped")
    assert isinstance(static, types.TextResourceContents)
    assert isinstance(made, types.TextResourceContents)
    assert "7" in made.text
    assert updated == uri


@requirement("gateway.real-servers")
async def test_filesystem_reads_writes_and_refuses(person: Person, workshop: Path) -> None:
    path = workshop / f"{person.mode}.txt"
    async with person.client() as client:
        listed = text_of(await client.call_tool("files__list_directory", {"path": str(workshop)}))
        read = text_of(await client.call_tool("files__read_text_file", {"path": str(workshop / "note.txt")}))
        await client.call_tool("files__write_file", {"path": str(path), "content": "tea"})
        edits = [{"oldText": "tea", "newText": "coffee"}]
        await client.call_tool("files__edit_file", {"path": str(path), "edits": edits})
        outside = await client.call_tool("files__read_text_file", {"path": "/etc/hostname"})
    assert "note.txt" in listed
    assert read == "the kettle is on\n"
    assert path.read_text("utf-8") == "coffee"
    assert outside.is_error


@requirement("gateway.real-servers")
async def test_memory_keeps_a_graph(person: Person) -> None:
    name = f"Ada of {person.mode}"
    entity = {"name": name, "entityType": "person", "observations": ["likes bees"]}
    async with person.client() as client:
        await client.call_tool("graph__create_entities", {"entities": [entity]})
        found = json.loads(text_of(await client.call_tool("graph__search_nodes", {"query": name})))
        [graph] = (await client.read_resource("graph__memory://knowledge-graph")).contents
        await client.call_tool("graph__delete_entities", {"entityNames": [name]})
        gone = json.loads(text_of(await client.call_tool("graph__open_nodes", {"names": [name]})))
    assert [node["name"] for node in found["entities"]] == [name]
    assert isinstance(graph, types.TextResourceContents)
    assert name in graph.text
    assert gone["entities"] == []


@requirement("gateway.real-servers")
async def test_git_shows_a_repository(person: Person, workshop: Path) -> None:
    repository = {"repo_path": str(workshop)}
    async with person.client() as client:
        logged = text_of(await client.call_tool("git__git_log", repository))
        shown = text_of(await client.call_tool("git__git_show", {**repository, "revision": "HEAD"}))
        branches = text_of(await client.call_tool("git__git_branch", {**repository, "branch_type": "local"}))
        wrong = await client.call_tool("git__git_show", {**repository, "revision": "no-such-thing"})
    assert "Put the kettle on" in logged
    assert "the kettle is on" in shown
    assert "main" in branches
    assert wrong.is_error


@requirement("gateway.real-servers")
async def test_time_is_told_and_converted(person: Person) -> None:
    hours = {"source_timezone": "Europe/Vienna", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    async with person.client() as client:
        now = text_of(await client.call_tool("time__get_current_time", {"timezone": "Europe/Vienna"}))
        converted = text_of(await client.call_tool("time__convert_time", hours))
        wrong = await client.call_tool("time__get_current_time", {"timezone": "Mars/Olympus"})
    assert "Europe/Vienna" in now
    assert "Asia/Tokyo" in converted
    assert wrong.is_error
