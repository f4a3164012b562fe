"""Sessions of 2025-11-25, on both transports: strict at the door, and everything a session has."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from limen.calls.changes import ListChanged, ResourceUpdated
from limen.protocol.versions import Revision
from tests.house import House, a_house
from tests.requirements import requirement
from tests.road.doors import (
    SESSION,
    STATELESS,
    Client,
    HttpWire,
    MemoryWire,
    envelope,
    hello,
    open_client,
    open_hub,
    open_memory,
)
from tests.road.workshop import Workshop

pytestmark = pytest.mark.anyio

OTHER_VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", STATELESS, "2025-11-26", "1.0", "", "latest", "2025-11-25 "]


@pytest.fixture(params=["memory", "http"])
async def stranger(request: pytest.FixtureRequest, house: House) -> AsyncGenerator[Client, None]:
    """A client that has not said anything yet."""
    async with AsyncExitStack() as stack:
        if request.param == "memory":
            wire: MemoryWire | HttpWire = await stack.enter_async_context(open_memory(house))
        else:
            wire = HttpWire(await stack.enter_async_context(open_hub(house)))
        yield Client(wire, SESSION, request.param, house)


@requirement("session.initialize")
async def test_initialize_with_a_served_version_tells_what_the_server_can_do(stranger: Client) -> None:
    answer = await stranger.result("initialize", hello())
    assert answer["protocolVersion"] == SESSION
    assert answer["serverInfo"]["name"] == "limen"
    assert answer["instructions"]
    assert answer["capabilities"] == {
        "tools": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
        "prompts": {"listChanged": True},
        "completions": {},
        "logging": {},
    }
    assert "tools" in await stranger.result("tools/list")


@requirement("session.strict-version")
@pytest.mark.parametrize("version", OTHER_VERSIONS)
async def test_initialize_with_any_other_version_is_refused_and_names_the_supported_ones(
    stranger: Client, version: str
) -> None:
    error = await stranger.error("initialize", hello(version))
    assert (error["code"], error["data"]["code"]) == (-32602, "unsupported_version")
    assert (error["data"]["supported"], error["data"]["requested"]) == ([SESSION], version)
    assert SESSION in error["message"]


@requirement("session.strict-version")
@pytest.mark.parametrize("params", [{}, {"protocolVersion": 20251125}, {"protocolVersion": None}, {"capabilities": {}}])
async def test_initialize_without_a_version_is_refused(stranger: Client, params: dict[str, Any]) -> None:
    error = await stranger.error("initialize", params)
    assert (error["code"], error["data"]["code"]) == (-32602, "invalid_arguments")


@requirement("session.strict-version", "session.initialize")
async def test_a_client_that_was_refused_may_try_again_with_another_version(stranger: Client) -> None:
    await stranger.error("initialize", hello("2024-11-05"))
    assert (await stranger.result("initialize", hello()))["protocolVersion"] == SESSION


@requirement("session.before-initialize")
@pytest.mark.parametrize(
    "method",
    ["tools/list", "tools/call", "resources/read", "logging/setLevel", "resources/subscribe", "completion/complete"],
)
async def test_a_request_before_initialize_is_refused(stranger: Client, method: str) -> None:
    error = await stranger.error(method, {"name": "echo", "uri": "x://note", "level": "info"})
    assert error["code"] == -32600
    # Over HTTP there is no session to be uninitialized in: the request lacks its session id.
    assert error["data"]["code"] == ("not_initialized" if stranger.transport == "memory" else "invalid_request")
    assert stranger.house.trail.rows == []


@requirement("session.initialize")
async def test_initialize_twice_in_one_session_is_refused_and_the_session_goes_on(session: Client) -> None:
    error = await session.error("initialize", hello())
    assert error["code"] == -32600
    assert await session.result("ping") == {}


@requirement("session.versions-narrowed")
@pytest.mark.parametrize("transport", ["memory", "http"])
async def test_only_the_versions_in_the_settings_are_served(workshop: Workshop, transport: str) -> None:
    only_session: tuple[Revision, ...] = ("2025-11-25",)
    house = a_house(providers={"w": workshop.toolset}, versions=only_session)
    async with open_client(house, transport, SESSION) as client:
        assert (await client.call("echo", {"text": "a"}))["isError"] is False
        client.revision = STATELESS
        if isinstance(client.wire, HttpWire):
            client.wire.headers.pop("mcp-session-id")
        error = await client.error("tools/list")
        assert (error["code"], error["data"]["supported"]) == (-32022, [SESSION])


@requirement("session.versions-narrowed")
@pytest.mark.parametrize("transport", ["memory", "http"])
async def test_a_house_without_sessions_refuses_initialize(workshop: Workshop, transport: str) -> None:
    only_stateless: tuple[Revision, ...] = ("2026-07-28",)
    house = a_house(providers={"w": workshop.toolset}, versions=only_stateless)
    async with open_client(house, transport, STATELESS) as client:
        assert (await client.call("echo", {"text": "a"}))["isError"] is False
        client.revision = SESSION
        error = await client.error("initialize", hello())
        assert (error["data"]["code"], error["data"]["supported"]) == ("unsupported_version", [])


@requirement("session.ping")
async def test_ping_is_answered_with_nothing(session: Client) -> None:
    assert await session.result("ping") == {}
    assert session.house.trail.rows == []


@requirement("session.ping")
async def test_ping_is_answered_before_initialize_on_a_stream(house: House) -> None:
    async with open_memory(house) as wire:
        assert await Client(wire, SESSION, "memory", house).result("ping") == {}


@requirement("session.log-level")
async def test_the_level_decides_which_messages_come(session: Client) -> None:
    trouble = {"what": "trouble"}
    await session.result("logging/setLevel", {"level": "error"})
    assert await _reported(session) == [trouble]
    await session.result("logging/setLevel", {"level": "debug"})
    assert await _reported(session) == ["chatter", trouble]


async def _reported(client: Client) -> list[Any]:
    """What the tool logged, up to the trouble it always has."""
    await client.call("report")
    said: list[Any] = []
    while {"what": "trouble"} not in said:
        message = (await client.hear("notifications/message"))["params"]
        # Over HTTP the hub itself tells of readiness and of level changes.
        said += [message["data"]] if message.get("logger") != "limen" else []
    return said


@requirement("session.log-level")
async def test_a_level_that_silences_everything_is_kept(session: Client) -> None:
    await session.result("logging/setLevel", {"level": "emergency"})
    await session.call("report", _meta={"progressToken": 1})
    while (await session.wire.news.get())["method"] != "notifications/progress":
        pass
    assert (await session.hear("notifications/progress"))["params"]["progress"] == 2
    assert all(message["method"] != "notifications/message" for message in _waiting(session))


def _waiting(client: Client) -> list[dict[str, Any]]:
    return [client.wire.news.get_nowait() for _ in range(client.wire.news.qsize())]


@requirement("session.log-level")
@pytest.mark.parametrize("level", ["loud", "", "INFO", 3, None])
async def test_an_unknown_level_is_refused_and_changes_nothing(session: Client, level: Any) -> None:
    error = await session.error("logging/setLevel", {"level": level})
    assert (error["code"], error["data"]["code"]) == (-32602, "invalid_arguments")


@requirement("wire.revisions")
@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen"])
async def test_methods_of_the_other_revision_are_not_served_without_its_envelope(session: Client, method: str) -> None:
    error = await session.error(method, {"notifications": {}})
    assert error["code"] in {-32601, -32602}


@requirement("session.subscribe")
async def test_a_subscribed_resource_that_changes_is_announced_until_it_is_unsubscribed(session: Client) -> None:
    assert await session.result("resources/subscribe", {"uri": "x://note"}) == {}
    session.house.changes.publish(ResourceUpdated("x://page/1"))
    session.house.changes.publish(ResourceUpdated("x://note"))
    assert (await session.hear("notifications/resources/updated"))["params"] == {"uri": "x://note"}
    assert await session.result("resources/unsubscribe", {"uri": "x://note"}) == {}
    session.house.changes.publish(ResourceUpdated("x://note"))
    session.house.changes.publish(ListChanged("tool"))
    heard = [message["method"] for message in [await session.wire.news.get()]]
    assert heard == ["notifications/tools/list_changed"]


@requirement("session.subscribe")
async def test_a_resource_that_does_not_exist_cannot_be_subscribed_to(session: Client) -> None:
    error = await session.error("resources/subscribe", {"uri": "x://nothing"})
    assert (error["code"], error["data"]["code"]) == (-32002, "resource_not_found")


@requirement("session.subscribe")
@pytest.mark.parametrize(
    ("change", "method"),
    [
        (ListChanged("tool"), "notifications/tools/list_changed"),
        (ListChanged("prompt"), "notifications/prompts/list_changed"),
        (ListChanged("resource"), "notifications/resources/list_changed"),
        (ListChanged("template"), "notifications/resources/list_changed"),
    ],
)
async def test_lists_that_changed_are_announced(session: Client, change: ListChanged, method: str) -> None:
    session.house.changes.publish(change)
    assert (await session.hear(method))["params"] == {}


@requirement("dispatch.cancel-in", "audit.cancelled-recorded")
async def test_a_cancelled_call_is_stopped_answered_and_recorded(session: Client, workshop: Workshop) -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(session.ask("tools/call", {"name": "wait", "arguments": {}}, message_id="slow"))
        await workshop.started.wait()
        await session.tell("notifications/cancelled", {"requestId": "slow", "reason": "enough"})
    answer = task.result()
    assert (answer["id"], answer["error"]["code"], answer["error"]["data"]["code"]) == ("slow", -32800, "cancelled")
    assert workshop.cancelled.is_set()
    assert session.house.trail.outcomes == ["cancelled"]
    assert await session.result("ping") == {}


@requirement("dispatch.cancel-in")
async def test_a_cancel_that_arrives_in_the_same_read_as_its_request_is_answered(
    house: House, workshop: Workshop
) -> None:
    async with open_client(house, "memory", SESSION) as client:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(client.ask("tools/call", {"name": "wait", "arguments": {}}, message_id=99))
            await asyncio.sleep(0)
            await client.tell("notifications/cancelled", {"requestId": 99})
        assert task.result()["error"]["code"] == -32800
        assert workshop.cancelled.is_set()


@requirement("wire.duplicate-id")
async def test_an_id_still_in_flight_is_refused_and_the_first_is_still_answered(
    session: Client, workshop: Workshop
) -> None:
    async with asyncio.TaskGroup() as group:
        first = group.create_task(session.ask("tools/call", {"name": "wait", "arguments": {}}, message_id=77))
        await workshop.started.wait()
        if isinstance(session.wire, MemoryWire):
            await session.wire.channel.send(b'{"jsonrpc":"2.0","id":77,"method":"ping"}')
            refused = await asyncio.shield(first)
            # On one stream the refusal bears the id of both; the first is answered as well, after it.
            workshop.go.set()
            answered = await session.wire.news.get()
        else:
            refused = await session.ask("ping", message_id=77)
            workshop.go.set()
            answered = await first
    assert refused["error"]["data"]["code"] == "duplicate_request"
    assert answered["result"]["content"][0]["text"] == "went on"


@requirement("session.initialize")
async def test_questions_go_out_on_the_calls_own_stream_and_are_awaited(session: Client) -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(session.call("ask", {"rounds": 2}))
        for number in range(2):
            asked = await session.hear("elicitation/create")
            assert asked["params"]["message"] == f"number {number}?"
            await session.answer(asked["id"], {"action": "accept", "content": {"n": number}})
    assert task.result()["structuredContent"]["said"] == [
        {"action": "accept", "content": {"n": 0}},
        {"action": "accept", "content": {"n": 1}},
    ]


async def test_two_questions_at_once_are_told_apart(session: Client) -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(session.call("pair"))
        asked: list[dict[str, Any]] = []
        while len(asked) < 2:
            message = await session.wire.news.get()
            asked += [message] if "id" in message else []
        for message in reversed(asked):
            await session.answer(message["id"], {"to": message["method"]})
    assert task.result()["structuredContent"] == {"roots": {"to": "roots/list"}, "form": {"to": "elicitation/create"}}


@pytest.mark.parametrize("transport", ["memory", "http"])
async def test_a_client_that_never_said_it_could_answer_is_not_asked(house: House, transport: str) -> None:
    async with open_client(house, transport, SESSION, capabilities={"elicitation": {"url": {}}}) as client:
        error = await client.error("tools/call", {"name": "ask", "arguments": {}})
        assert error["data"]["code"] == "missing_client_capability"
        assert error["data"]["requiredCapabilities"] == {"elicitation": {}}


async def test_an_error_the_client_answers_with_is_passed_on(session: Client) -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(session.error("tools/call", {"name": "ask", "arguments": {}}))
        asked = await session.hear("elicitation/create")
        error = {"code": -1, "message": "not today", "data": {"until": "monday"}}
        await session.wire.send({"jsonrpc": "2.0", "id": asked["id"], "error": error})
    assert task.result() == {"code": -1, "message": "not today", "data": {"until": "monday"}}


@requirement("dispatch.timeout-out")
@pytest.mark.parametrize("transport", ["memory", "http"])
async def test_a_question_nobody_answers_in_time_is_taken_back(workshop: Workshop, transport: str) -> None:
    house = a_house(providers={"w": workshop.toolset}, ask_timeout_s=0.05)
    async with open_client(house, transport, SESSION, capabilities={"elicitation": {}}) as client:
        error = await client.error("tools/call", {"name": "ask", "arguments": {}})
        asked = await client.hear("elicitation/create")
        told = await client.hear("notifications/cancelled")
        assert (error["data"]["code"], told["params"]["requestId"]) == ("timeout", asked["id"])
        await client.answer(asked["id"], {"action": "accept"})
        assert await client.result("ping") == {}


@requirement("dispatch.cancel-out")
async def test_a_call_cancelled_while_the_client_is_asked_takes_the_question_back(session: Client) -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(session.ask("tools/call", {"name": "ask", "arguments": {}}, message_id="q"))
        asked = await session.hear("elicitation/create")
        await session.tell("notifications/cancelled", {"requestId": "q"})
        told = await session.hear("notifications/cancelled")
    assert told["params"]["requestId"] == asked["id"]
    assert task.result()["error"]["code"] == -32800


@requirement("peers.side-by-side", "stdio.both-revisions")
async def test_one_stream_serves_requests_of_both_revisions_side_by_side(house: House) -> None:
    async with open_client(house, "memory", SESSION) as client:
        for number in range(3):
            plain = await client.ask("tools/list")
            modern = await client.ask("tools/list", {"_meta": envelope()})
            assert "resultType" not in plain["result"]
            assert modern["result"]["resultType"] == "complete"
            assert (await client.ask("ping", message_id=f"p{number}"))["result"] == {}
            assert (await client.ask("ping", {"_meta": envelope()}))["error"]["code"] == -32601


@requirement("stdio.both-revisions")
async def test_a_stateless_client_needs_no_initialize_and_makes_no_session(house: House) -> None:
    async with open_memory(house) as wire:
        modern, plain = Client(wire, STATELESS, "memory", house), Client(wire, SESSION, "memory", house)
        assert (await modern.ask("tools/list", message_id="m"))["result"]["tools"]
        assert (await plain.ask("tools/list", message_id="s"))["error"]["data"]["code"] == "not_initialized"
