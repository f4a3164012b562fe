"""Revision 2026-07-28 on both transports: every request brings its own envelope, and nothing is remembered."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from limen import __version__
from limen.calls.changes import ListChanged, ResourceUpdated
from limen.protocol.frames import encode_request
from limen.protocol.versions import (
    META_CLIENT_CAPABILITIES,
    META_LOG_LEVEL,
    META_SERVER_INFO,
    META_SUBSCRIPTION,
    META_VERSION,
)
from tests.house import House, a_caller
from tests.requirements import requirement
from tests.road.doors import STATELESS, Client, HttpWire, envelope, open_client, open_memory
from tests.road.workshop import Workshop
from tests.unit.server.test_seal import resealed

pytestmark = pytest.mark.anyio

YES = {"action": "accept", "content": {"ok": True}}


@requirement("stateless.discover")
async def test_discover_tells_versions_capabilities_and_instructions(stateless: Client) -> None:
    told = await stateless.result("server/discover")
    assert told["supportedVersions"] == ["2025-11-25", "2026-07-28"]
    assert told["capabilities"]["tools"] == {"listChanged": True}
    assert told["instructions"]
    assert told["_meta"][META_SERVER_INFO] == {"name": "limen", "title": "Limen", "version": __version__}


@requirement("stateless.result-type")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("server/discover", {}),
        ("tools/list", {}),
        ("tools/call", {"name": "echo", "arguments": {"text": '"resultType" and "_meta"'}}),
        ("prompts/list", {}),
        ("prompts/get", {"name": "greet", "arguments": {"name": "ada"}}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("resources/read", {"uri": "x://note"}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "name"}}),
    ],
)
async def test_every_result_carries_its_type_and_the_servers_name(
    stateless: Client, method: str, params: dict[str, Any]
) -> None:
    result = await stateless.result(method, params)
    assert result["resultType"] == "complete"
    assert result["_meta"][META_SERVER_INFO]["name"] == "limen"


@requirement("stateless.caching")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("server/discover", {}),
        ("tools/list", {}),
        ("prompts/list", {}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("resources/read", {"uri": "x://note"}),
    ],
)
async def test_lists_and_reads_say_how_long_and_for_whom_they_hold(
    stateless: Client, method: str, params: dict[str, Any]
) -> None:
    result = await stateless.result(method, params)
    assert result["ttlMs"] >= 0
    assert result["cacheScope"] in {"private", "public"}


@requirement("stateless.caching")
async def test_what_is_done_once_is_not_called_cacheable(stateless: Client) -> None:
    result = await stateless.call("echo", {"text": "a"})
    assert "ttlMs" not in result
    assert "cacheScope" not in result


@requirement("stateless.meta-required")
@pytest.mark.parametrize(
    ("meta", "named"),
    [
        ({META_CLIENT_CAPABILITIES: None}, META_CLIENT_CAPABILITIES),
        ({META_CLIENT_CAPABILITIES: []}, META_CLIENT_CAPABILITIES),
        ({META_CLIENT_CAPABILITIES: "all"}, META_CLIENT_CAPABILITIES),
    ],
)
@pytest.mark.parametrize("method", ["tools/list", "server/discover", "tools/call"])
async def test_a_request_without_its_capabilities_is_refused(
    stateless: Client, method: str, meta: dict[str, Any], named: str
) -> None:
    error = await stateless.error(method, {"name": "echo", "_meta": meta})
    assert (error["code"], error["data"]["code"], error["data"]["field"]) == (-32602, "invalid_arguments", "_meta")
    assert named in error["message"]


@requirement("stateless.meta-required")
@pytest.mark.parametrize("meta", [None, {}, {META_CLIENT_CAPABILITIES: {}}])
@pytest.mark.parametrize("transport", ["memory", "http"])
async def test_discover_without_its_version_is_refused(house: House, transport: str, meta: Any) -> None:
    async with open_client(house, transport, STATELESS) as client:
        params = {} if meta is None else {"_meta": meta}
        if isinstance(client.wire, HttpWire):
            client.wire.headers["mcp-protocol-version"] = STATELESS
            client.wire.headers["mcp-method"] = "server/discover"
        answer = await client.wire.send({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": params})
        assert answer is not None
        assert (answer["error"]["code"], answer["error"]["data"]["field"]) == (-32602, "_meta")
        assert META_VERSION in answer["error"]["message"]


@requirement("stateless.version-refused")
@pytest.mark.parametrize("version", ["2025-11-25", "2099-01-01", "2024-11-05", ""])
@pytest.mark.parametrize("method", ["tools/list", "server/discover", "subscriptions/listen", "no/such"])
async def test_a_version_that_is_not_served_this_way_is_refused_with_those_that_are(
    stateless: Client, method: str, version: str
) -> None:
    error = await stateless.error(method, {"_meta": {META_VERSION: version}, "notifications": {}})
    assert (error["code"], error["data"]["code"]) == (-32022, "unsupported_version")
    assert error["data"]["requested"] == version
    assert STATELESS in error["data"]["supported"]


@requirement("wire.revisions", "wire.unknown-method")
@pytest.mark.parametrize(
    "method", ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"]
)
async def test_what_the_revision_removed_is_not_served(stateless: Client, method: str) -> None:
    error = await stateless.error(method, {"level": "info", "uri": "x://note"})
    assert (error["code"], error["data"]["code"]) == (-32601, "method_not_found")


@requirement("stateless.missing-capability")
async def test_a_call_that_needs_what_the_client_did_not_declare_is_refused(stateless: Client) -> None:
    stateless.capabilities = {"elicitation": {"url": {}}}
    error = await stateless.error("tools/call", {"name": "ask", "arguments": {}})
    assert (error["code"], error["data"]["code"]) == (-32021, "missing_client_capability")
    assert error["data"]["requiredCapabilities"] == {"elicitation": {}}


async def test_capabilities_count_for_their_own_request_alone(stateless: Client) -> None:
    stateless.capabilities = {"elicitation": {}}
    assert (await stateless.call("ask"))["resultType"] == "input_required"
    stateless.capabilities = {}
    assert (await stateless.error("tools/call", {"name": "ask", "arguments": {}}))["code"] == -32021


async def test_log_messages_come_only_to_those_who_ask_for_them(stateless: Client) -> None:
    await stateless.call("report", _meta={"progressToken": 1})
    await stateless.call("report", _meta={META_LOG_LEVEL: "error", "progressToken": 2})
    heard = [stateless.wire.news.get_nowait() for _ in range(stateless.wire.news.qsize())]
    assert [(message["method"], message["params"].get("level")) for message in heard] == [
        ("notifications/progress", None),
        ("notifications/progress", None),
        ("notifications/progress", None),
        ("notifications/progress", None),
        ("notifications/message", "error"),
    ]


@requirement("stateless.input-required")
@pytest.mark.parametrize("rounds", [1, 2, 3])
async def test_a_call_that_needs_the_client_finishes_when_it_is_retried_with_answers(
    stateless: Client, rounds: int
) -> None:
    more: dict[str, Any] = {}
    for number in range(rounds):
        pause = await stateless.call("ask", {"rounds": rounds}, **more)
        assert pause["resultType"] == "input_required"
        assert pause["inputRequests"] == {
            f"q{number}": {"method": "elicitation/create", "params": {"mode": "form", "message": f"number {number}?"}}
        }
        assert pause["_meta"][META_SERVER_INFO]["name"] == "limen"
        more = {"requestState": pause["requestState"], "inputResponses": {f"q{number}": {"n": number}}}
    result = await stateless.call("ask", {"rounds": rounds}, **more)
    assert result["resultType"] == "complete"
    assert result["structuredContent"]["said"] == [{"n": number} for number in range(rounds)]
    assert stateless.house.trail.outcomes == ["input_required"] * rounds + ["ok"]


@requirement("stateless.input-required")
async def test_two_questions_come_together_and_an_answer_that_is_missing_is_asked_for_again(stateless: Client) -> None:
    pause = await stateless.call("pair")
    assert set(pause["inputRequests"]) == {"roots", "form"}
    again = await stateless.call(
        "pair", requestState=pause["requestState"], inputResponses={"roots": {"roots": []}, "unasked": {}}
    )
    assert set(again["inputRequests"]) == {"form"}
    result = await stateless.call("pair", requestState=again["requestState"], inputResponses={"form": YES})
    assert result["structuredContent"] == {"roots": {"roots": []}, "form": YES}


@requirement("stateless.input-required")
async def test_answers_without_a_state_count_as_well(stateless: Client) -> None:
    assert (await stateless.call("ask", inputResponses={"q0": YES}))["structuredContent"]["said"] == [YES]


@requirement("stateless.input-required")
async def test_the_order_of_keys_in_the_arguments_does_not_matter(stateless: Client) -> None:
    pause = await stateless.call("ask", {"rounds": 1, "about": "x"})
    again = {"requestState": pause["requestState"], "inputResponses": {"q0": YES}}
    assert (await stateless.call("ask", {"about": "x", "rounds": 1}, **again))["resultType"] == "complete"


@requirement("stateless.input-required")
async def test_arguments_with_numbers_no_double_can_hold_do_no_harm(house: House) -> None:
    async with open_memory(house) as wire:
        meta = json.dumps(envelope()).encode()
        params = b'{"name":"ask","arguments":{"n":1e400},"requestState":"x","_meta":%b}' % meta
        await wire.channel.send(encode_request(9, "tools/call", params))
        assert (await wire.news.get())["error"]["data"]["field"] == "requestState"


CHANGES: dict[str, Callable[[str], str]] = {
    "changed": lambda state: state[:-8] + "AAAA" + state[-4:],
    "cut short": lambda state: state[:40],
    "made longer": lambda state: state + "AAAA",
    "empty": lambda state: "",
    "nonsense": lambda state: "no base64 !",
    "not ascii": lambda state: "é" * 20,
    "signed with another key": lambda state: resealed(state, expires_ms=1),
}


@requirement("stateless.state-integrity")
@pytest.mark.parametrize("change", CHANGES)
async def test_a_state_that_was_changed_is_refused_and_nothing_runs(stateless: Client, change: str) -> None:
    pause = await stateless.call("ask")
    runs = len(stateless.house.trail.rows)
    again = {"requestState": CHANGES[change](pause["requestState"]), "inputResponses": {"q0": YES}}
    error = await stateless.error("tools/call", {"name": "ask", "arguments": {}, **again})
    assert (error["code"], error["data"]["field"]) == (-32602, "requestState")
    assert len(stateless.house.trail.rows) == runs


@requirement("stateless.state-integrity")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "ask", "arguments": {"rounds": 2}}),
        ("tools/call", {"name": "pair", "arguments": {}}),
        ("prompts/get", {"name": "ask", "arguments": {}}),
        ("resources/read", {"uri": "x://note"}),
    ],
)
async def test_a_state_of_another_request_is_refused(stateless: Client, method: str, params: dict[str, Any]) -> None:
    pause = await stateless.call("ask")
    error = await stateless.error(method, params | {"requestState": pause["requestState"]})
    assert (error["code"], error["data"]["field"]) == (-32602, "requestState")


@requirement("stateless.state-integrity")
async def test_a_state_of_another_principal_is_refused(house: House) -> None:
    states: list[str] = []
    for subject in ("local:ada", "local:bob"):
        async with open_memory(house, caller=a_caller(subject)) as wire:
            client = Client(wire, STATELESS, "memory", house, {"elicitation": {}})
            states.append((await client.call("ask"))["requestState"])
            again = {"requestState": states[0], "inputResponses": {"q0": YES}}
            answer = await client.ask("tools/call", {"name": "ask", "arguments": {}, **again})
            assert ("result" in answer) == (subject == "local:ada")


@requirement("stateless.listen")
async def test_a_listener_is_acknowledged_first_and_then_told_what_it_asked_for(stateless: Client) -> None:
    wanted = {"toolsListChanged": True, "resourceSubscriptions": ["x://note"]}
    async with asyncio.TaskGroup() as group:
        task = group.create_task(stateless.ask("subscriptions/listen", {"notifications": wanted}, message_id="ears"))
        first = await stateless.wire.news.get()
        assert first["method"] == "notifications/subscriptions/acknowledged"
        assert first["params"] == {"_meta": {META_SUBSCRIPTION: "ears"}, "notifications": wanted}
        unwanted = (ListChanged("prompt"), ResourceUpdated("x://other"), ListChanged("resource"))
        for change in (*unwanted, ListChanged("tool"), ResourceUpdated("x://note")):
            stateless.house.changes.publish(change)
        heard = [await stateless.wire.news.get() for _ in range(2)]
        assert [message["method"] for message in heard] == [
            "notifications/tools/list_changed",
            "notifications/resources/updated",
        ]
        assert all(message["params"]["_meta"] == {META_SUBSCRIPTION: "ears"} for message in heard)
        assert heard[1]["params"]["uri"] == "x://note"
        task.cancel()


@requirement("stateless.listen")
async def test_a_listener_is_not_granted_a_resource_it_cannot_see_and_the_try_is_recorded(stateless: Client) -> None:
    wanted = {"resourceSubscriptions": ["x://note", "x://nowhere"]}
    async with asyncio.TaskGroup() as group:
        task = group.create_task(stateless.ask("subscriptions/listen", {"notifications": wanted}))
        ack = await stateless.hear("notifications/subscriptions/acknowledged")
        assert ack["params"]["notifications"] == {"resourceSubscriptions": ["x://note"]}
        assert stateless.house.trail.outcomes == ["ok", "not_found"]
        task.cancel()


@requirement("stateless.listen", "road.one-way")
async def test_a_listener_is_not_told_of_resources_it_may_not_use(stateless: Client) -> None:
    wanted = {"resourceSubscriptions": ["x://note", "x://nothing", "x://page/1", "x://note"]}
    async with asyncio.TaskGroup() as group:
        task = group.create_task(stateless.ask("subscriptions/listen", {"notifications": wanted}, message_id="ears"))
        granted = (await stateless.wire.news.get())["params"]["notifications"]
        assert granted == {"resourceSubscriptions": ["x://note", "x://page/1"]}
        for uri in ("x://nothing", "x://page/2", "x://page/1"):
            stateless.house.changes.publish(ResourceUpdated(uri))
        assert (await stateless.wire.news.get())["params"]["uri"] == "x://page/1"
        assert stateless.house.trail.outcomes == ["ok", "not_found", "ok"]
        task.cancel()


@requirement("stateless.listen")
async def test_a_listener_cannot_ask_for_endless_resources(stateless: Client) -> None:
    wanted = {"resourceSubscriptions": [f"x://{number}" for number in range(1001)]}
    error = await stateless.error("subscriptions/listen", {"notifications": wanted})
    assert error["code"] == -32602


@requirement("stateless.listen")
async def test_two_listeners_hear_each_under_its_own_id(stateless: Client) -> None:
    async with asyncio.TaskGroup() as group:
        listeners = [
            group.create_task(stateless.ask("subscriptions/listen", {"notifications": wanted}, message_id=name))
            for name, wanted in (("a", {"toolsListChanged": True}), ("b", {"promptsListChanged": True}))
        ]
        for _ in listeners:
            await stateless.hear("notifications/subscriptions/acknowledged")
        stateless.house.changes.publish(ListChanged("prompt"))
        stateless.house.changes.publish(ListChanged("tool"))
        tags = {(message := await stateless.wire.news.get())["method"]: message["params"]["_meta"] for _ in range(2)}
        assert tags == {
            "notifications/prompts/list_changed": {META_SUBSCRIPTION: "b"},
            "notifications/tools/list_changed": {META_SUBSCRIPTION: "a"},
        }
        for listener in listeners:
            listener.cancel()


@requirement("stateless.listen")
@pytest.mark.parametrize("params", [{}, {"notifications": None}, {"notifications": {"toolsListChanged": "yes"}}])
async def test_a_listener_that_does_not_say_what_it_wants_is_refused(stateless: Client, params: dict[str, Any]) -> None:
    error = await stateless.error("subscriptions/listen", params)
    assert (error["code"], error["data"]["code"]) == (-32602, "invalid_arguments")


@requirement("stateless.cancel-silent", "audit.cancelled-recorded")
async def test_a_cancelled_request_on_a_stream_is_stopped_recorded_and_never_answered(
    house: House, workshop: Workshop
) -> None:
    async with open_client(house, "memory", STATELESS) as client, asyncio.TaskGroup() as group:
        task = group.create_task(client.ask("tools/call", {"name": "wait", "arguments": {}}, message_id="gone"))
        await workshop.started.wait()
        await client.tell("notifications/cancelled", {"requestId": "gone"})
        await workshop.cancelled.wait()
        assert (await client.call("echo", {"text": "on"}))["content"][0]["text"] == "on"
        assert not task.done()
        task.cancel()
    assert sorted(house.trail.outcomes) == ["cancelled", "ok"]


@requirement("stateless.cancel-silent")
async def test_a_cancel_that_arrives_in_the_same_read_as_its_request_means_silence(
    house: House, workshop: Workshop
) -> None:
    async with open_client(house, "memory", STATELESS) as client, asyncio.TaskGroup() as group:
        task = group.create_task(client.ask("tools/call", {"name": "wait", "arguments": {}}, message_id="gone"))
        await asyncio.sleep(0)
        await client.tell("notifications/cancelled", {"requestId": "gone"})
        await client.call("echo", {"text": "on"})
        assert not task.done()
        task.cancel()
    assert workshop.cancelled.is_set()


@requirement("stateless.close-cancels", "audit.cancelled-recorded")
async def test_hanging_up_cancels_the_call_and_it_is_recorded(house: House, workshop: Workshop) -> None:
    async with open_client(house, "http", STATELESS) as client:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(client.call("wait"))
            await workshop.started.wait()
            task.cancel()
        await asyncio.wait_for(workshop.cancelled.wait(), 4)
        await house.trail.reaches(2)
        assert house.trail.outcomes == ["cancelled"]
        assert (await client.call("echo", {"text": "on"}))["content"][0]["text"] == "on"


@requirement("stateless.close-cancels")
async def test_hanging_up_ends_a_listener(house: House) -> None:
    async with open_client(house, "http", STATELESS) as client, asyncio.TaskGroup() as group:
        wanted = {"notifications": {"toolsListChanged": True}}
        task = group.create_task(client.ask("subscriptions/listen", wanted))
        await client.hear("notifications/subscriptions/acknowledged")
        task.cancel()
        assert (await client.call("echo", {"text": "on"}))["isError"] is False


@requirement("stateless.no-session")
async def test_no_session_is_issued_or_needed(house: House) -> None:
    async with open_client(house, "http", STATELESS) as client:
        assert isinstance(client.wire, HttpWire)
        await client.call("echo", {"text": "a"})
        assert "mcp-session-id" not in client.wire.headers
        assert len(client.wire.hub.door.sessions) == 0
        # One that is sent all the same means nothing here.
        client.wire.headers["mcp-session-id"] = "left over"
        assert (await client.call("echo", {"text": "b"}))["isError"] is False


@requirement("stateless.no-session")
async def test_an_id_may_be_used_by_two_requests_at_once_over_http(house: House, workshop: Workshop) -> None:
    async with open_client(house, "http", STATELESS) as client, asyncio.TaskGroup() as group:
        slow = group.create_task(client.ask("tools/call", {"name": "wait", "arguments": {}}, message_id=1))
        await workshop.started.wait()
        quick = await client.ask("tools/call", {"name": "echo", "arguments": {"text": "a"}}, message_id=1)
        assert quick["result"]["content"][0]["text"] == "a"
        workshop.go.set()
        assert (await slow)["result"]["content"][0]["text"] == "went on"


async def test_a_progress_token_of_the_wrong_shape_is_refused_in_this_revision(stateless: Client) -> None:
    error = await stateless.error("tools/call", {"name": "echo", "_meta": {"progressToken": 1.5}})
    assert (error["code"], error["data"]["code"]) == (-32602, "invalid_arguments")


async def test_the_client_is_recorded_under_the_name_it_gives(stateless: Client) -> None:
    meta = envelope() | {"io.modelcontextprotocol/clientInfo": "not an object"}
    assert (await stateless.call("echo", {"text": "a"}, _meta=meta))["isError"] is False
