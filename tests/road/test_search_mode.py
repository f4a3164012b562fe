"""In search mode two tools stand for all those of upstreams; a call by either way takes the same road."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from limen.calls.call import Allow, Call, Capability, Decision, Deny
from limen.config.model import ServerEntry
from limen.toolsets.finding import Finding
from limen.transport.client import McpClient, SilentHost
from limen.transport.client import open_client as open_mcp_client
from limen.transport.handshake import ClientProfile
from limen.transport.process import ChildCommand, open_child
from tests.environment import Home
from tests.house import a_house
from tests.requirements import requirement
from tests.road.doors import SESSION, STATELESS, Client, Message, open_client
from tests.road.upstreams import a_server, open_threshold

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(20)]

DOORS = [("memory", SESSION), ("memory", STATELESS), ("http", SESSION), ("http", STATELESS)]
WANTS: Message = {"sampling": {}, "elicitation": {}, "roots": {}}

Front = Callable[..., AbstractAsyncContextManager[Client]]


class NoPids:
    """A policy that denies one tool and remembers what it was asked about."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def decide(self, call: Call, capability: Capability) -> Decision:
        """By the name of the tool."""
        self.asked.append(capability.name)
        return Deny("no-pids", "not this one") if capability.name.endswith("__pid") else Allow("rest")


@pytest.fixture
def policy() -> NoPids:
    """The policy of the house."""
    return NoPids()


@pytest.fixture(params=DOORS, ids="-".join)
def front(request: pytest.FixtureRequest, tmp_path: Path, policy: NoPids) -> Front:
    """A client at any door of a house in search mode."""
    return _front(request.param, tmp_path, policy)


@pytest.fixture
def near(tmp_path: Path, policy: NoPids) -> Front:
    """A client at one door, for what is the same at all of them."""
    return _front(DOORS[0], tmp_path, policy)


def _front(door: tuple[str, str], folder: Path, policy: NoPids) -> Front:
    @asynccontextmanager
    async def open_front(*favourites: str, **servers: ServerEntry) -> AsyncGenerator[Client]:
        finding = Finding(favourites, "none")
        async with open_threshold(servers, folder) as threshold:
            for name in servers:
                await threshold.gateway.get(name).discovered()
            providers = {"finding": finding.toolset, "gateway": finding.cover(threshold.gateway)}
            house = a_house(
                providers=providers, policy=policy, changes=threshold.house.changes, forwards=finding.forwards
            )
            async with open_client(house, *door, capabilities=WANTS) as client:
                yield client

    return open_front


async def names(client: Client) -> list[str]:
    """What is listed."""
    return [tool["name"] for tool in (await client.result("tools/list"))["tools"]]


async def by_name(client: Client, tool: str, arguments: Message | None = None, **params: object) -> Message:
    """Call a tool through `call_tool`."""
    return await client.call("call_tool", {"name": tool, "arguments": arguments or {}}, **params)


@requirement("gateway.search-mode")
async def test_only_the_two_and_the_favourites_are_listed_and_all_can_be_called(front: Front) -> None:
    async with front(
        "frail__e*", "gone__tool", frail=a_server("faults.crashing"), many=a_server("faults.many", "50")
    ) as client:
        assert await names(client) == ["find_tools", "call_tool", "frail__echo"]
        direct = await client.call("many__tool7", {"a": 1})
        assert (await by_name(client, "many__tool7", {"a": 1}))["content"] == direct["content"]


@requirement("gateway.call-tool-road")
async def test_a_call_through_call_tool_is_decided_and_recorded_as_the_tool_itself(
    front: Front, policy: NoPids
) -> None:
    async with front(frail=a_server("faults.crashing")) as client:
        await by_name(client, "frail__echo", {"a": 1})
        assert policy.asked == ["frail__echo"]
        assert client.house.trail.rows == [("intent", "frail__echo", "rest"), ("outcome", "frail__echo", "ok")]
        error = await client.error("tools/call", {"name": "call_tool", "arguments": {"name": "frail__pid"}})
        assert error["data"]["code"] == "denied"
        assert client.house.trail.rows[2:] == [("outcome", "frail__pid", "denied")]


async def test_numbers_reach_the_tool_as_they_were_written(near: Front) -> None:
    async with near(frail=a_server("faults.crashing")) as client:
        said = {"big": 12345678901234567890123, "odd": [1.10, None]}
        assert json.loads((await by_name(client, "frail__echo", said))["content"][0]["text"]) == said


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "nobody__nothing"},
        {"name": "call_tool", "arguments": {"name": "frail__echo"}},
        {"name": "frail__echo", "arguments": [1]},
        {"name": "frail__echo", "more": 1},
        {"arguments": {}},
        {"name": ""},
    ],
)
async def test_a_call_that_stands_for_none_is_told_what_is_wrong(near: Front, arguments: Message) -> None:
    async with near(frail=a_server("faults.crashing")) as client:
        result = await client.call("call_tool", arguments)
        assert result["isError"] is True
        assert client.house.trail.rows[-1] == ("outcome", "call_tool", "tool_error")


async def test_a_misspelt_name_is_answered_with_the_right_one(near: Front) -> None:
    async with near(frail=a_server("faults.crashing")) as client:
        assert "'frail__echo'" in (await by_name(client, "frail__ecko"))["content"][0]["text"]


async def test_tools_are_found_with_all_that_is_needed_to_call_them(near: Front) -> None:
    async with near(frail=a_server("faults.crashing"), many=a_server("faults.many", "50", "search_code")) as client:
        found = (await client.call("find_tools", {"query": "search code", "limit": 3}))["structuredContent"]
        assert len(found["tools"]) == 3
        best = found["tools"][0]
        assert best["name"] == "many__search_code0"
        assert best["server"] == "many"
        assert best["description"] == "search_code0 of a test"
        assert best["inputSchema"]["required"] == ["path"]
        assert 0 < best["score"] <= 1
        assert found["searched"] == 50 + len(["echo", "pid", "hold", "crash"])


async def test_a_search_can_be_kept_to_one_server(near: Front) -> None:
    async with near(frail=a_server("faults.crashing"), many=a_server("faults.many", "5", "echo")) as client:
        found = (await client.call("find_tools", {"query": "echo", "server": "frail"}))["structuredContent"]
        assert [tool["name"] for tool in found["tools"]] == ["frail__echo"]
        refused = await client.call("find_tools", {"query": "echo", "server": "nobody"})
        assert refused["isError"] is True
        assert "frail, many" in refused["content"][0]["text"]


async def test_a_search_in_vain_says_which_servers_there_are(near: Front) -> None:
    async with near(frail=a_server("faults.crashing")) as client:
        found = (await client.call("find_tools", {"query": "zyzzyva"}))["structuredContent"]
        assert found["tools"] == []
        assert found["servers"] == ["frail"]


async def test_a_changed_catalog_is_found_at_once(near: Front) -> None:
    async with near(fickle=a_server("faults.changing")) as client:
        async with asyncio.timeout(10):
            while "fickle__reading3_page2" not in await _find(client, "page2 reading3"):  # noqa: ASYNC110
                await asyncio.sleep(0.05)


@requirement("gateway.call-tool-road")
async def test_progress_and_questions_reach_whoever_used_call_tool(front: Front) -> None:
    async with front(talker=a_server("faults.talkative")) as client:
        heard = json.loads((await talk(client))["content"][0]["text"])
        assert heard["elicited"]["content"] == {"mark": "m"}
        assert heard["sampled"]["content"]["text"] == "re m"
        if client.transport == "memory" and client.revision == SESSION:
            assert {name for _, name, _ in client.house.trail.rows} == {
                "talker__talk",
                "notifications/progress",
                "notifications/message",
            }


@requirement("gateway.call-tool-road")
async def test_taking_call_tool_back_stops_the_tool(front: Front) -> None:
    async with front(silent=a_server("faults.silent")) as client:
        # Once each, so that they are known to be quiet and need not wait for a call that says nothing.
        await client.call("silent__echo")
        await client.call("silent__cancelled")
        params = {"name": "call_tool", "arguments": {"name": "silent__wait"}}
        request = client.request("tools/call", params, message_id="taken-back")
        waiting = asyncio.get_running_loop().create_task(client.wire.send(request))
        await client.house.trail.reaches(5)
        await client.call("silent__echo")
        if client.transport == "http" and client.revision == STATELESS:
            waiting.cancel()
        else:
            await client.tell("notifications/cancelled", {"requestId": "taken-back"})
        async with asyncio.timeout(5):
            while (await client.call("silent__cancelled"))["content"][0]["text"] != "1":  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        waiting.cancel()


async def _find(client: Client, query: str) -> list[str]:
    """The names of what is found."""
    found = (await client.call("find_tools", {"query": query}))["structuredContent"]
    return [tool["name"] for tool in found["tools"]]


def _answers(asked: Message) -> Message:
    match asked["method"]:
        case "sampling/createMessage":
            said = asked["params"]["messages"][0]["content"]["text"]
            return {"role": "assistant", "model": "m", "content": {"type": "text", "text": f"re {said}"}}
        case "elicitation/create":
            return {"action": "accept", "content": {"mark": asked["params"]["message"]}}
        case _:
            return {"roots": [{"uri": "file:///root-of-the-test"}]}


async def talk(client: Client) -> Message:
    """Call the talkative one through `call_tool`, and answer whatever it asks."""
    params: Message = {"name": "call_tool", "arguments": {"name": "talker__talk", "arguments": {"mark": "m"}}}
    params["_meta"] = {"progressToken": "p"}
    if client.revision == STATELESS:
        while (result := await client.result("tools/call", params)).get("resultType") == "input_required":
            answers = {key: _answers(asked) for key, asked in result["inputRequests"].items()}
            params = params | {"inputResponses": answers, "requestState": result["requestState"]}
        return result
    asking = asyncio.get_running_loop().create_task(client.result("tools/call", params))
    for _ in range(3):
        while "id" not in (asked := await client.wire.news.get()):
            client.house.trail.rows.append(("news", asked["method"], ""))
        await client.answer(asked["id"], _answers(asked))
    return await asking


@asynccontextmanager
async def a_child(home: Home, limen_bin: Path, settings: Message) -> AsyncGenerator[McpClient]:
    """A client of a real `limen stdio` with these settings."""
    path = home.path / "limen.json"
    path.write_text(json.dumps(settings))
    argv = [str(limen_bin), "stdio", "--config", str(path)]
    async with (
        open_child(ChildCommand(argv, home.env), 1 << 22) as channel,
        open_mcp_client(channel, ClientProfile("test", "1"), SilentHost(), revisions=["2025-11-25"]) as client,
    ):
        yield client


@requirement("gateway.search-mode")
@pytest.mark.slow
@pytest.mark.timeout(60)
async def test_a_hub_of_a_settings_file_finds_calls_and_cuts(home: Home, limen_bin: Path) -> None:
    sample = {"command": sys.executable, "args": ["-m", "limen.samples.server"]}
    settings: Message = {
        "servers": {"one": sample, "two": sample},
        "toolsets": ["hub"],
        "expose": {"mode": "search", "favourites": ["two__get_*"]},
        "limits": {"result_bytes": 2048},
    }
    async with a_child(home, limen_bin, settings) as client:
        async with asyncio.timeout(20):
            query = b'{"query":"echo a text"}'
            while b"two__echo" not in (found := await client.call_tool("find_tools", query)):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert json.loads(found)["structuredContent"]["tools"][0]["name"] == "one__echo"
        listed = [json.loads(tool)["name"] for tool in await client.list_tools()]
        assert listed == ["search_local_context", "find_tools", "call_tool", "two__get_time"]
        said = "word " * 2000
        call = {"name": "one__echo", "arguments": {"text": said}}
        cut = json.loads(await client.call_tool("call_tool", json.dumps(call).encode()))
        uri = cut["content"][-1]["uri"]
        page = json.loads(await client.request("resources/read", json.dumps({"uri": uri}).encode()))
        assert page["contents"][0]["text"] == said
        kept = list((home.path / "cache" / "results").rglob("*"))
        assert [path.is_dir() for path in kept] == [True, False]
    assert list((home.path / "cache" / "results").iterdir()) == []
