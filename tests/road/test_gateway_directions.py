"""Both directions between both revisions: what an upstream says and asks reaches the client whose call it is about.

Clients and upstreams are the official SDK's; Limen stands between them, and either side may speak either revision.
"""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp import Client, MCPDeprecationWarning, MCPError, types
from mcp.client.session import ClientRequestContext, IncomingMessage

from tests.requirements import requirement
from tests.servers.sdk_everything.running import http_entry, hub_before, stdio_entry

LEGACY, MODERN = "2025-11-25", "2026-07-28"
UPSTREAMS = {"s25": LEGACY, "s26": MODERN, "h25": LEGACY, "h26": MODERN}
"""By name: stdio or HTTP, and the revision that is spoken with it."""

Heard = MemoryObjectReceiveStream[object]
Until = Callable[[str], Awaitable[object]]

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.timeout(30),
    pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.{MCPDeprecationWarning.__name__}"),
]


@pytest.fixture(scope="module")
def endpoint(limen_bin: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("home")
    with ExitStack() as stack:
        servers: dict[str, Any] = {}
        for name, revision in UPSTREAMS.items():
            # Each has a server of its own: what one conversation changes is no news in another.
            entry = stdio_entry() if name[0] == "s" else stack.enter_context(http_entry(home / name))
            servers[name] = {**entry, "protocol": revision, "expose": "prefixed"}
        expected = [f"{name}__test_simple_text" for name in servers]
        roots = {"allowed_file_roots": [str(home)]}
        yield stack.enter_context(hub_before(limen_bin, home / "near", servers, *expected, **roots))


@dataclass(slots=True)
class Person:
    """Whoever sits at a client: answers what is asked and remembers what was said."""

    name: str = "Ada"
    endpoint: str = ""
    mode: str = "legacy"
    asked: list[str] = field(default_factory=list[str])
    logged: list[str] = field(default_factory=list[str])
    reported: list[tuple[float, float | None, str | None]] = field(
        default_factory=list[tuple[float, float | None, str | None]]
    )
    sent_to: anyio.Event = field(default_factory=anyio.Event)

    @property
    def is_stateless(self) -> bool:
        """Whether the client speaks 2026-07-28."""
        return self.mode == MODERN

    async def fill_in(self, _: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        """A form is filled in, a page is visited."""
        self.asked.append(params.message)
        if isinstance(params, types.ElicitRequestURLParams):
            self.sent_to.set()
            return types.ElicitResult(action="accept")
        known = {"username": "ada", "email": "ada@example.com", "color": "green", "context": "bees"}
        properties = params.requested_schema["properties"]
        return types.ElicitResult(action="accept", content={key: known.get(key, self.name) for key in properties})

    async def dream_up(
        self, _: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        """The model repeats what it was asked."""
        content = params.messages[0].content
        assert isinstance(content, types.TextContent)
        self.asked.append(content.text)
        answer = types.TextContent(text=f"{self.name} read: {content.text}")
        return types.CreateMessageResult(role="assistant", content=answer, model="none")

    async def tell_roots(self, _: ClientRequestContext) -> types.ListRootsResult:
        """One root."""
        return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///garden"}]})

    async def hear(self, params: types.LoggingMessageNotificationParams) -> None:
        """A log message of a tool."""
        if params.logger == "everything":
            self.logged.append(str(params.data))

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        """How far a call is."""
        self.reported.append((progress, total, message))

    @asynccontextmanager
    async def client(self, **options: Any) -> AsyncGenerator[Client]:
        """A client that can answer everything; options add to that or take it away."""
        able: dict[str, Any] = {
            "elicitation_callback": self.fill_in,
            "sampling_callback": self.dream_up,
            "list_roots_callback": self.tell_roots,
            "logging_callback": self.hear,
            "log_level": "info",
            "read_timeout_seconds": 20,
        }
        async with Client(self.endpoint, mode=self.mode, **{**able, **options}) as client:
            yield client


MUTE: dict[str, Any] = {"elicitation_callback": None, "sampling_callback": None, "list_roots_callback": None}


@pytest.fixture(params=["legacy", MODERN])
def person(request: pytest.FixtureRequest, endpoint: str) -> Person:
    return Person(endpoint=endpoint, mode=request.param)


@pytest.fixture(params=UPSTREAMS)
def far(request: pytest.FixtureRequest) -> str:
    return request.param


def text_of(result: types.CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@requirement("gateway.both-directions")
async def test_a_caller_is_asked_and_its_answers_come_back(person: Person, far: str) -> None:
    async with person.client() as client:
        filled = await client.call_tool(f"{far}__test_elicitation", {"message": "Who?"})
        sampled = await client.call_tool(f"{far}__test_sampling", {"prompt": "Say something."})
        roots = await client.call_tool(f"{far}__test_input_required_result_list_roots")
        several = await client.call_tool(f"{far}__test_input_required_result_multiple_inputs")
        rounds = await client.call_tool(f"{far}__test_input_required_result_multi_round")
        prompt = await client.get_prompt(f"{far}__test_input_required_result_prompt")
    assert text_of(filled) == 'action=accept, content={"email": "ada@example.com", "username": "ada"}'
    assert text_of(sampled) == "the model said: Ada read: Say something."
    assert text_of(roots) == "roots: file:///garden"
    assert text_of(several) == "Ada read: Write one greeting. Ada, 1 roots"
    assert text_of(rounds) == "Ada likes green"
    assert isinstance(prompt.messages[0].content, types.TextContent)
    assert prompt.messages[0].content.text == "Consider this: bees"


@requirement("gateway.both-directions")
async def test_a_caller_is_sent_to_a_page(person: Person, far: str) -> None:
    async with person.client() as client:
        visited = await client.call_tool(f"{far}__test_url_elicitation")
    assert text_of(visited) == "action=accept, content={}"
    assert person.asked == ["Sign in there, then come back."]


@requirement("gateway.both-directions")
@pytest.mark.parametrize("far", ["s25", "h25"])
async def test_a_call_refused_for_want_of_a_page_is_made_again_when_somebody_was_there(
    person: Person, far: str
) -> None:
    page = {"page": f"{person.mode}-{far}"}

    async def visit(client: Client) -> None:
        await person.sent_to.wait()
        await client.call_tool(f"{far}__test_visit_page", page)

    async with person.client() as client, anyio.create_task_group() as group:
        group.start_soon(visit, client)
        signed = await client.call_tool(f"{far}__test_sign_in", page)
        assert text_of(signed) == f"signed in at {page['page']}"
    assert person.asked == ["Sign in first."]


@requirement("gateway.both-directions")
@pytest.mark.parametrize("far", ["s25", "h25"])
async def test_a_client_that_cannot_visit_pages_is_told_so_in_its_own_revision(person: Person, far: str) -> None:
    async with person.client(**MUTE) as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool(f"{far}__test_sign_in", {"page": "nobody-was-here"})
    assert refused.value.code == (-32021 if person.is_stateless else -32042)


@requirement("gateway.both-directions")
async def test_a_client_that_can_answer_nothing_is_refused_clearly(person: Person, far: str) -> None:
    async with person.client(**MUTE) as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool(f"{far}__test_missing_capability")
        plain = await client.call_tool(f"{far}__test_simple_text")
    assert "sampling" in str(refused.value) or "model" in str(refused.value)
    assert text_of(plain) == "plain text, as asked"


@requirement("gateway.both-directions")
async def test_roots_are_told_from_the_settings_when_the_client_has_none(
    person: Person, far: str, tmp_path: Path
) -> None:
    async with person.client(**MUTE) as client:
        roots = await client.call_tool(f"{far}__test_input_required_result_list_roots")
    assert text_of(roots).startswith("roots: file:///")
    assert "garden" not in text_of(roots)


@requirement("gateway.both-directions")
async def test_progress_arrives_in_order(person: Person, far: str) -> None:
    async with person.client() as client:
        await client.call_tool(f"{far}__test_tool_with_progress", progress_callback=person.report)
    assert person.reported == [(0, 100, "0 of 100"), (50, 100, "50 of 100"), (100, 100, "100 of 100")]


@requirement("gateway.both-directions")
async def test_log_messages_arrive_from_the_level_on_that_the_caller_wants(person: Person, far: str) -> None:
    async with person.client(log_level="warning") as client:
        if not person.is_stateless:
            await client.set_logging_level("warning")  # pyright: ignore[reportDeprecated] -- this revision's way
        await client.call_tool(f"{far}__test_logging_tool")
    assert person.logged == ["said at warning", "said at error"]


@requirement("gateway.both-directions")
async def test_a_call_given_up_is_cancelled_at_the_upstream(person: Person, far: str) -> None:
    begun = anyio.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        assert (progress, total, message) == (0, 1, "waiting")
        begun.set()

    async with person.client() as client:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: client.call_tool(f"{far}__test_wait", progress_callback=hear))
            await begun.wait()
            group.cancel_scope.cancel()
        assert text_of(await client.call_tool(f"{far}__test_wait_witness")) == "cancelled"


@asynccontextmanager
async def hearing(person: Person, client: Client, heard: Heard, watched: str) -> AsyncGenerator[Until]:
    """Listen to changes the way the client's revision does; gives a wait for the next one of a kind."""

    async def until(kind: str) -> object:
        async for message in heard:
            if type(message).__name__.startswith(kind):
                return message
        raise AssertionError(f"no {kind}")

    if not person.is_stateless:
        await client.subscribe_resource(watched)  # pyright: ignore[reportDeprecated] -- this revision's way
        yield until
        await client.unsubscribe_resource(watched)  # pyright: ignore[reportDeprecated] -- this revision's way
        return
    wanted: dict[str, Any] = {"tools_list_changed": True, "prompts_list_changed": True}
    async with client.listen(**wanted, resource_subscriptions=[watched]) as news:

        async def until_listened(kind: str) -> object:
            async for message in news:
                if type(message).__name__.replace("sList", "List").startswith(kind):
                    return message
            raise AssertionError(f"no {kind}")

        yield until_listened


@requirement("gateway.both-directions")
async def test_changes_of_lists_and_resources_are_heard(person: Person, far: str) -> None:
    told, heard = anyio.create_memory_object_stream[object](64)
    watched = f"{far}__test://watched-resource"

    async def hear(message: IncomingMessage) -> None:
        await told.send(message)

    async def is_there(client: Client, kind: str) -> bool:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        return f"{far}__test_fleeting_{kind}" in (tools | prompts)

    async with (
        told,
        heard,
        person.client(message_handler=hear) as client,
        hearing(person, client, heard, watched) as until,
    ):
        await client.call_tool(f"{far}__test_trigger_resource_update")
        updated = await until("ResourceUpdated")
        for kind in ("tool", "prompt"):
            for shown in (True, False):
                await client.call_tool(f"{far}__test_trigger_{kind}_change")
                await until(f"{kind.title()}ListChanged")
                assert await is_there(client, kind) == shown
    uri = updated.params.uri if isinstance(updated, types.ResourceUpdatedNotification) else getattr(updated, "uri", "")
    assert uri == watched


@requirement("gateway.both-directions")
@pytest.mark.parametrize("far", ["s25", "h25"])
async def test_the_upstream_is_unsubscribed_from_when_the_last_client_that_listened_is_gone(
    person: Person, far: str
) -> None:
    watched = f"{far}__test://watched-resource"
    async with person.client() as client:
        if person.is_stateless:
            async with client.listen(resource_subscriptions=[watched]):
                during = text_of(await client.call_tool(f"{far}__test_watched"))
        else:
            await client.subscribe_resource(watched)  # pyright: ignore[reportDeprecated] -- this revision's way
            during = text_of(await client.call_tool(f"{far}__test_watched"))
    assert during == "test://watched-resource"
    async with person.client() as client:
        left = during
        while left != "nothing":
            left = text_of(await client.call_tool(f"{far}__test_watched"))


@requirement("gateway.both-directions")
async def test_templates_and_completions_lead_to_their_upstream(person: Person, far: str) -> None:
    prompt = types.PromptReference(name=f"{far}__test_prompt_with_arguments")
    template = types.ResourceTemplateReference(uri=f"{far}__test://template/{{id}}/data")
    async with person.client() as client:
        words = await client.complete(prompt, {"name": "arg1", "value": "par"})
        ids = await client.complete(template, {"name": "id", "value": "12"})
        [made] = (await client.read_resource(f"{far}__test://template/7/data")).contents
    assert words.completion.values == ["paris", "park", "party"]
    assert ids.completion.values == ["12", "123"]
    assert isinstance(made, types.TextResourceContents)
    assert json.loads(made.text)["id"] == "7"


CLIENTS, CALLS = 10, 5


@requirement("gateway.both-directions")
@pytest.mark.slow
@pytest.mark.timeout(90)
async def test_what_is_said_and_asked_at_fifty_calls_at_once_reaches_each_own_caller_only(
    endpoint: str, far: str
) -> None:
    people = [Person(f"p{n}", endpoint, MODERN if n % 2 else "legacy") for n in range(CLIENTS)]
    results: dict[str, str] = {}

    async def call(person: Person, client: Client, word: str) -> None:
        tool, arguments = f"{far}__test_all_of_it", {"word": word}
        results[word] = text_of(await client.call_tool(tool, arguments, progress_callback=person.report))

    async def live(person: Person) -> None:
        async with person.client(read_timeout_seconds=60) as client, anyio.create_task_group() as group:
            for n in range(CALLS):
                group.start_soon(call, person, client, f"{person.name}-{n}")

    async with anyio.create_task_group() as group:
        for person in people:
            group.start_soon(live, person)

    for person in people:
        words = [f"{person.name}-{n}" for n in range(CALLS)]
        for word in words:
            assert results[word] == f"result for {word}: {person.name}, {person.name} read: prompt for {word}"
        assert {message for *_, message in person.reported} == {f"progress for {word}" for word in words}
        assert set(person.logged) == {f"log for {word}" for word in words}
        assert set(person.asked) == {f"{kind} for {word}" for word in words for kind in ("form", "prompt")}
