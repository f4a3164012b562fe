"""What every client gets, whatever it speaks and however it is connected."""

import asyncio
from typing import Any

import pytest

from tests.house import DENIED, House, RuleBook, a_caller, a_house
from tests.requirements import requirement
from tests.road.doors import SESSION, STATELESS, Client, hello, open_client, open_memory
from tests.road.workshop import Workshop

pytestmark = pytest.mark.anyio


@requirement("session.tools")
async def test_tools_are_listed_completely_and_in_a_fixed_order(client: Client) -> None:
    listed = [(await client.result("tools/list"))["tools"] for _ in range(2)]
    assert [tool["name"] for tool in listed[0]] == [
        "echo",
        "wait",
        "fail",
        "crash",
        "report",
        "ask",
        "pair",
        "let_go",
        "write",
        "routed",
    ]
    assert listed[0] == listed[1]
    assert listed[0][0]["inputSchema"]["required"] == ["text"]


@requirement("session.tools", "peers.side-by-side")
async def test_a_tool_is_called_by_its_name(client: Client) -> None:
    answer = await client.call("echo", {"text": "hé\u2028", "times": 2})
    assert answer["content"] == [{"type": "text", "text": "hé\u2028hé\u2028"}]
    assert answer["structuredContent"] == {"said": "hé\u2028"}
    assert client.house.trail.rows == [("intent", "echo", "test-allows"), ("outcome", "echo", "ok")]


@requirement("hub.arguments")
@pytest.mark.parametrize(
    ("arguments", "named"), [({}, "text"), ({"text": 1}, "text"), ({"text": "a", "tims": 2}, "tims")]
)
async def test_wrong_arguments_are_a_result_marked_as_an_error_that_names_the_field(
    client: Client, arguments: dict[str, Any], named: str
) -> None:
    answer = await client.call("echo", arguments)
    assert answer["isError"] is True
    assert named in answer["content"][0]["text"]
    assert client.house.trail.outcomes == ["tool_error"]


@requirement("road.tool-failure")
async def test_a_tool_that_failed_says_so_in_its_result(client: Client) -> None:
    answer = await client.call("fail")
    assert (answer["isError"], answer["content"][0]["text"]) == (True, "it did not work")


@requirement("dispatch.handler-bug")
async def test_a_bug_is_answered_without_its_secrets_and_the_client_is_served_on(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    error = await client.error("tools/call", {"name": "crash", "arguments": {}})
    assert error["code"] == -32603
    assert "secret" not in str(error)
    assert "request failed" in caplog.messages
    assert (await client.call("echo", {"text": "on"}))["content"][0]["text"] == "on"
    assert client.house.trail.outcomes == ["error", "ok"]


@requirement("road.unknown")
async def test_an_unknown_tool_is_refused_and_recorded(client: Client) -> None:
    error = await client.error("tools/call", {"name": "nothing", "arguments": {}})
    assert (error["code"], error["data"]["code"]) == (-32602, "not_found")
    assert client.house.trail.outcomes == ["not_found"]


@requirement("wire.unknown-method")
@pytest.mark.parametrize("method", ["tools/destroy", "", "Tools/list", "tasks/list", "rpc.discover", "../ping"])
async def test_an_unknown_method_is_refused(client: Client, method: str) -> None:
    error = await client.error(method)
    assert (error["code"], error["data"]["code"]) == (-32601, "method_not_found")


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {}),
        ("tools/call", {"name": 7}),
        ("tools/call", {"name": "echo", "arguments": []}),
        ("tools/call", {"name": "echo", "arguments": "x"}),
        ("tools/list", {"cursor": "more"}),
        ("tools/list", {"cursor": 3}),
        ("prompts/get", {"name": "greet", "arguments": {"name": 7}}),
        ("prompts/get", {"name": "greet"}),
        ("resources/read", {}),
        ("resources/read", {"uri": None}),
        ("completion/complete", {}),
        ("completion/complete", {"ref": {"type": "ref/tool", "name": "echo"}, "argument": {"name": "a", "value": ""}}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": []}),
    ],
)
async def test_wrong_params_are_refused_with_a_typed_error(client: Client, method: str, params: dict[str, Any]) -> None:
    error = await client.error(method, params)
    assert (error["code"], error["data"]["code"]) == (-32602, "invalid_arguments")


async def test_arguments_may_be_left_out_or_null(client: Client) -> None:
    for params in ({"name": "fail"}, {"name": "fail", "arguments": None}):
        assert (await client.result("tools/call", params))["isError"] is True


async def test_fields_nobody_knows_are_ignored(client: Client) -> None:
    answer = await client.call("echo", {"text": "a"}, unknown=[1], _meta={"vendor/thing": {"a": 1}})
    assert answer["content"][0]["text"] == "a"


@requirement("session.prompts")
async def test_prompts_are_listed_and_rendered(client: Client) -> None:
    assert [prompt["name"] for prompt in (await client.result("prompts/list"))["prompts"]] == ["greet"]
    prompt = await client.result("prompts/get", {"name": "greet", "arguments": {"name": "ada"}})
    assert prompt["messages"][0]["content"]["text"] == "greet ada"


@requirement("session.prompts")
async def test_an_unknown_prompt_is_refused(client: Client) -> None:
    assert (await client.error("prompts/get", {"name": "nothing"}))["code"] == -32602


@requirement("session.resources")
async def test_resources_and_templates_are_listed_and_read(client: Client) -> None:
    assert [item["uri"] for item in (await client.result("resources/list"))["resources"]] == ["x://note"]
    templates = (await client.result("resources/templates/list"))["resourceTemplates"]
    assert [item["uriTemplate"] for item in templates] == ["x://page/{number}"]
    for uri, held in (("x://note", "a note"), ("x://page/7", "page 7")):
        [contents] = (await client.result("resources/read", {"uri": uri}))["contents"]
        assert (contents["uri"], contents["text"]) == (uri, held)


@requirement("session.resources")
async def test_a_resource_that_does_not_exist_is_refused_as_the_revision_says(client: Client) -> None:
    error = await client.error("resources/read", {"uri": "x://nothing"})
    assert error["code"] == (-32602 if client.revision == STATELESS else -32002)
    assert error["data"] == {"code": "resource_not_found", "uri": "x://nothing"}


@requirement("session.completion")
@pytest.mark.parametrize(
    ("ref", "argument", "values"),
    [
        ({"type": "ref/prompt", "name": "greet"}, {"name": "name", "value": "a"}, ["ada", "alan"]),
        ({"type": "ref/prompt", "name": "greet"}, {"name": "other", "value": ""}, []),
        ({"type": "ref/resource", "uri": "x://page/{number}"}, {"name": "number", "value": "1"}, ["1", "10"]),
    ],
)
async def test_arguments_are_completed(
    client: Client, ref: dict[str, Any], argument: dict[str, Any], values: list[str]
) -> None:
    found = await client.result("completion/complete", {"ref": ref, "argument": argument})
    assert found["completion"]["values"] == values


@requirement("dispatch.progress")
@pytest.mark.parametrize("token", [7, "seven"])
async def test_progress_reaches_the_one_who_asked_for_it(client: Client, token: int | str) -> None:
    await client.call("report", _meta={"progressToken": token})
    heard = [(await client.hear("notifications/progress"))["params"] for _ in range(2)]
    assert heard == [
        {"progressToken": token, "progress": 1, "total": 2, "message": "step 1"},
        {"progressToken": token, "progress": 2, "total": 2, "message": "step 2"},
    ]


@requirement("dispatch.concurrent")
async def test_calls_in_flight_at_once_are_answered_as_they_finish(client: Client, workshop: Workshop) -> None:
    async with asyncio.TaskGroup() as group:
        slow = group.create_task(client.call("wait"))
        await workshop.started.wait()
        assert (await client.call("echo", {"text": "quick"}))["content"][0]["text"] == "quick"
        assert not slow.done()
        workshop.go.set()
    assert slow.result()["content"][0]["text"] == "went on"


@requirement("road.one-way")
async def test_tools_resources_prompts_and_completions_all_leave_a_record(client: Client) -> None:
    await client.call("echo", {"text": "a"})
    await client.result("resources/read", {"uri": "x://note"})
    await client.result("prompts/get", {"name": "greet", "arguments": {"name": "b"}})
    ref = {"type": "ref/prompt", "name": "greet"}
    await client.result("completion/complete", {"ref": ref, "argument": {"name": "name", "value": ""}})
    names = [name for phase, name, _ in client.house.trail.rows if phase == "outcome"]
    assert names == ["echo", "x://note", "greet", "greet"]


@requirement("road.hidden")
@pytest.mark.parametrize("revision", [SESSION, STATELESS])
async def test_what_a_tier_does_not_cover_is_neither_listed_nor_callable(
    house: House, workshop: Workshop, revision: str
) -> None:
    async with open_memory(house, caller=a_caller(tier="read")) as wire:
        client = Client(wire, revision, "memory", house)
        if revision == SESSION:
            await client.result("initialize", hello())
        assert "write" not in [tool["name"] for tool in (await client.result("tools/list"))["tools"]]
        error = await client.error("tools/call", {"name": "write", "arguments": {"text": "a"}})
        assert (error["code"], error["data"]["code"], workshop.wrote) == (-32602, "not_found", [])


@requirement("road.denied")
@pytest.mark.parametrize(("transport", "revision"), [("memory", SESSION), ("http", SESSION), ("http", STATELESS)])
async def test_a_denied_call_runs_nothing_and_names_its_rule(workshop: Workshop, transport: str, revision: str) -> None:
    house = a_house(providers={"w": workshop.toolset}, policy=RuleBook(DENIED))
    async with open_client(house, transport, revision) as client:
        error = await client.error("tools/call", {"name": "write", "arguments": {"text": "a"}})
        assert (error["code"], error["data"]) == (-32003, {"code": "denied", "rule": "test-denies"})
        assert (await client.error("resources/read", {"uri": "x://note"}))["data"]["code"] == "denied"
        assert (await client.error("prompts/get", {"name": "greet"}))["data"]["code"] == "denied"
        assert workshop.wrote == []
        assert house.trail.outcomes == ["denied"] * 3


@requirement("audit.unwritable-refuses", "audit.unwritable-reads")
async def test_without_a_writable_trail_reads_go_on_and_writes_are_refused(client: Client, workshop: Workshop) -> None:
    client.house.trail.is_writable = False
    assert (await client.call("echo", {"text": "read"}))["isError"] is False
    error = await client.error("tools/call", {"name": "write", "arguments": {"text": "never"}})
    assert (error["code"], error["data"]["code"], workshop.wrote) == (-32006, "audit_unavailable", [])
    client.house.trail.is_writable = True
    assert (await client.call("write", {"text": "now"}))["isError"] is False
    assert workshop.wrote == ["now"]
