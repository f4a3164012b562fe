"""Upstreams that misbehave: a clear error for the call it concerns, nothing left behind, everybody else unaffected."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from limen.config.model import ServerEntry
from tests.environment import ROOT, Home
from tests.requirements import requirement
from tests.road.doors import SESSION, STATELESS, Client, Message, open_client
from tests.road.shell import Shell
from tests.road.upstreams import Threshold, a_server, is_running, open_threshold, until, until_gone

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(20)]

DOORS = [("memory", SESSION), ("memory", STATELESS), ("http", SESSION), ("http", STATELESS)]
WANTS: Message = {"sampling": {}, "elicitation": {}, "roots": {}}

Front = Callable[..., AbstractAsyncContextManager[tuple[Client, Threshold]]]


@pytest.fixture(params=DOORS, ids="-".join)
def front(request: pytest.FixtureRequest, tmp_path: Path) -> Front:
    """A client at any door of a house with these servers, and a healthy one beside them."""

    @asynccontextmanager
    async def open_front(**servers: ServerEntry) -> AsyncGenerator[tuple[Client, Threshold]]:
        beside = {"healthy": a_server("speaking")}
        async with (
            open_threshold(servers | beside, tmp_path) as threshold,
            open_client(threshold.house, *request.param, capabilities=WANTS) as client,
        ):
            yield client, threshold

    return open_front


async def names(client: Client) -> list[str]:
    """What is listed."""
    return [tool["name"] for tool in (await client.result("tools/list"))["tools"]]


async def listed(client: Client, name: str) -> list[str]:
    """What is listed, once this is among it: servers that are slow to start are not waited for long."""
    async with asyncio.timeout(10):
        while True:
            found = await names(client)
            if name in found:
                return found
            await asyncio.sleep(0.05)


async def echoes(client: Client, server: str, said: object = "hello") -> None:
    """A call that must work."""
    result = await client.call(f"{server}__echo", {"said": said})
    assert json.loads(result["content"][0]["text"]) == {"said": said}


async def says(client: Client, tool: str, arguments: Message | None = None) -> str:
    """The text of a result."""
    return (await client.call(tool, arguments))["content"][0]["text"]


async def fails(client: Client, tool: str, arguments: Message | None = None) -> Message:
    """The error of a call that must fail."""
    return await client.error("tools/call", {"name": tool, "arguments": arguments or {}})


def code(error: Message) -> str:
    """The stable code in an error."""
    return error["data"]["code"]


@requirement("gateway.faults")
async def test_garbage_between_answers_is_counted_and_harms_nothing(front: Front) -> None:
    async with front(noisy=a_server("faults.garbage")) as (client, threshold):
        await listed(client, "noisy__echo")
        for number in range(5):
            await echoes(client, "noisy", number)
        assert any("no messages" in warning for warning in threshold.status("noisy").warnings)
        assert threshold.status("noisy").stderr_tail == ["a noisy one"]


@requirement("gateway.faults")
async def test_an_answer_under_a_wrong_id_is_nobodys(front: Front) -> None:
    async with front(liar=a_server("faults.wrong_id", timeout_s=0.3)) as (client, _):
        await listed(client, "liar__echo")
        async with asyncio.TaskGroup() as group:
            mistaken = group.create_task(fails(client, "liar__mistaken"))
            group.create_task(echoes(client, "healthy"))
        assert code(mistaken.result()) == "upstream_timeout"
        await echoes(client, "liar")


@requirement("gateway.faults")
async def test_the_first_of_two_answers_counts(front: Front) -> None:
    async with front(twice=a_server("faults.twice")) as (client, _):
        await listed(client, "twice__echo")
        for number in range(20):
            await echoes(client, "twice", number)


@requirement("gateway.faults")
@pytest.mark.parametrize("place", ["first", "last"])
async def test_a_line_beyond_the_limit_fails_its_own_call_at_once(front: Front, place: str) -> None:
    async with front(enormous=a_server("faults.enormous")) as (client, _):
        await listed(client, "enormous__grow")
        async with asyncio.TaskGroup() as group:
            grown = group.create_task(fails(client, "enormous__grow", {"mb": 100, "id": place}))
            for _ in range(10):
                await echoes(client, "healthy")
        assert code(grown.result()) == "too_large"
        await echoes(client, "enormous")


@requirement("gateway.faults")
async def test_a_call_that_is_never_answered_ends_with_its_time(front: Front) -> None:
    async with front(silent=a_server("faults.silent", timeout_s=0.3)) as (client, _):
        await listed(client, "silent__wait")
        error = await fails(client, "silent__wait")
        assert code(error) == "upstream_timeout"
        assert "silent" in error["message"]
        assert await says(client, "silent__cancelled") == "1"


@requirement("gateway.faults")
async def test_a_server_that_stops_in_the_middle_of_an_answer_is_replaced(front: Front) -> None:
    async with front(closing=a_server("faults.closing")) as (client, _):
        await listed(client, "closing__stop")
        error = await fails(client, "closing__stop")
        assert code(error) == "channel_closed"
        await echoes(client, "closing")
        await echoes(client, "healthy")


@requirement("gateway.faults")
async def test_a_server_that_crashes_at_its_start_is_told_with_its_last_words(front: Front) -> None:
    async with front(loop=a_server("faults.crashloop")) as (client, threshold):
        assert await listed(client, "healthy__echo") == ["healthy__echo"]
        await until(lambda: threshold.status("loop").state == "failed")
        assert "no licence found" in threshold.status("loop").reason
        await echoes(client, "healthy")


@requirement("gateway.faults")
async def test_calls_in_flight_at_a_crash_fail_at_once_and_the_next_one_works(front: Front) -> None:
    async with front(frail=a_server("faults.crashing")) as (client, _):
        await listed(client, "frail__hold")
        pids: set[str] = set()
        # Calls of a tool that is new to Limen have the server for themselves, until it was seen not to ask anything.
        await says(client, "frail__hold", {"until": 0})
        for _ in range(5):
            pids.add(await says(client, "frail__pid"))
            async with asyncio.TaskGroup() as group:
                held = [group.create_task(fails(client, "frail__hold", {"until": 5})) for _ in range(5)]
            assert {code(task.result()) for task in held} == {"channel_closed"}
            assert all("segfault imminent" in task.result()["message"] for task in held)
        assert len(pids) == 5


@requirement("gateway.faults")
async def test_a_daemon_that_holds_the_pipes_open_does_not_outlive_its_server(front: Front) -> None:
    async with front(forker=a_server("faults.daemon")) as (client, _):
        await listed(client, "forker__fork")
        family = [int(pid) for pid in (await says(client, "forker__fork")).split()]
        assert all(map(is_running, family))
        error = await fails(client, "forker__crash")
        assert code(error) == "channel_closed"
        await echoes(client, "forker")
        await until_gone(*family)
        family = [int(pid) for pid in (await says(client, "forker__fork")).split()]
    await until_gone(*family)


@requirement("gateway.faults")
async def test_ten_thousand_tools_are_all_listed_and_can_be_called(front: Front) -> None:
    async with front(rich=a_server("faults.many", "10000", "thing")) as (client, _):
        found = await listed(client, "rich__thing0")
        assert len(found) == 10_001
        assert json.loads(await says(client, "rich__thing9999", {"a": 1})) == {"a": 1}


@requirement("gateway.faults")
@pytest.mark.parametrize("way", ["fresh", "cycle"])
async def test_a_list_without_end_is_given_up_and_the_others_are_shown(front: Front, way: str) -> None:
    async with front(endless=a_server("faults.endless", way)) as (client, threshold):
        assert await listed(client, "healthy__echo") == ["healthy__echo"]
        await until(lambda: bool(threshold.status("endless").reason))
        assert "tools/list" in threshold.status("endless").reason
        await echoes(client, "healthy")


@requirement("gateway.faults")
async def test_a_list_that_changes_while_it_is_read_is_read_again(front: Front) -> None:
    async with front(fickle=a_server("faults.changing")) as (client, _):
        found = await listed(client, "fickle__reading3_page2")
        expected = {"fickle__echo", *(f"fickle__reading3_page{page}" for page in range(3))}
        assert {name for name in found if name.startswith("fickle")} == expected
        await echoes(client, "fickle")


@requirement("gateway.faults")
async def test_tools_with_broken_schemas_are_left_out_with_a_reason(front: Front) -> None:
    async with front(broken=a_server("faults.schemas")) as (client, threshold):
        found = await listed(client, "broken__echo")
        shown = {"broken__echo", "broken__odd", "broken__unfitting", "broken__shapeless"}
        assert {name for name in found if name.startswith("broken")} == shown
        assert len(threshold.status("broken").warnings) == 7
        await echoes(client, "broken")


@requirement("gateway.faults")
async def test_content_that_does_not_fit_its_declaration_arrives_as_it_was_written(front: Front) -> None:
    async with front(broken=a_server("faults.schemas")) as (client, _):
        await listed(client, "broken__unfitting")
        assert (await client.call("broken__unfitting"))["structuredContent"] == {"n": "a word"}
        await echoes(client, "broken")


@requirement("gateway.faults")
async def test_a_result_that_is_no_object_is_an_error_of_its_server(front: Front) -> None:
    async with front(broken=a_server("faults.schemas")) as (client, _):
        await listed(client, "broken__shapeless")
        error = await fails(client, "broken__shapeless")
        assert code(error) == "upstream_error"
        await echoes(client, "broken")


@requirement("gateway.faults")
async def test_a_server_that_hangs_in_its_handshake_delays_only_calls_to_it(front: Front) -> None:
    async with front(hanging=a_server("faults.hanging")) as (client, threshold):
        assert await listed(client, "healthy__echo") == ["healthy__echo"]
        for _ in range(20):
            await echoes(client, "healthy")
        assert threshold.status("hanging").state == "starting"


def moody(mood: str) -> ServerEntry:
    """A server that is known as the same in every mood."""
    return a_server("faults.moody", env={"MOOD": mood}, timeout_s=0.5)


@requirement("gateway.faults")
async def test_a_call_to_a_server_that_hangs_in_its_handshake_ends_with_its_own_time(front: Front) -> None:
    async with front(moody=moody("good")) as (client, _):
        await listed(client, "moody__echo")
    async with front(moody=moody("hang")) as (client, _):
        assert "moody__echo" in await names(client)
        async with asyncio.TaskGroup() as group:
            hung = [group.create_task(fails(client, "moody__echo")) for _ in range(3)]
            for _ in range(10):
                await echoes(client, "healthy")
        assert {code(task.result()) for task in hung} == {"upstream_timeout"}


@requirement("gateway.faults")
async def test_a_server_that_cannot_start_is_told_with_its_last_words_and_then_left_alone(front: Front) -> None:
    async with front(moody=moody("good")) as (client, _):
        await listed(client, "moody__echo")
    async with front(moody=moody("end")) as (client, _):
        first, second = await fails(client, "moody__echo"), await fails(client, "moody__echo")
        assert code(first) == "channel_closed"
        assert "not today" in first["message"]
        assert code(second) == "unreachable"
        assert "not today" in second["message"]
        assert second["data"]["retry_after_s"] > 0
        await echoes(client, "healthy")


@requirement("gateway.faults")
async def test_a_slow_call_holds_up_nobody(front: Front) -> None:
    async with front(slow=a_server("faults.slow")) as (client, _):
        await listed(client, "slow__nap")
        # Calls of a tool that is new to Limen have the server for themselves, until it was seen not to ask anything.
        assert await says(client, "slow__nap", {"s": 0}) == "slept"
        await says(client, "slow__wake", {"is_meant": False})
        async with asyncio.TaskGroup() as group:
            nap = group.create_task(says(client, "slow__nap", {"s": 60}))
            for number in range(20):
                await echoes(client, "slow", number)
                await echoes(client, "healthy", number)
            assert not nap.done()
            await says(client, "slow__wake", {"is_meant": True})
        assert nap.result() == "woken"


@requirement("gateway.faults")
async def test_a_client_that_takes_its_call_back_stops_the_waiting(front: Front) -> None:
    async with front(silent=a_server("faults.silent")) as (client, _):
        await listed(client, "silent__wait")
        request = client.request("tools/call", {"name": "silent__wait", "arguments": {}}, message_id="taken-back")
        waiting = asyncio.get_running_loop().create_task(client.wire.send(request))
        await echoes(client, "silent")
        if client.transport == "http" and client.revision == STATELESS:
            waiting.cancel()
        else:
            await client.tell("notifications/cancelled", {"requestId": "taken-back"})
        async with asyncio.timeout(10):
            while True:
                if await says(client, "silent__cancelled") == "1":
                    break
                await asyncio.sleep(0.01)
        waiting.cancel()


@requirement("gateway.faults")
async def test_large_answers_within_the_limit_arrive_whole(front: Front) -> None:
    async with front(enormous=a_server("faults.enormous")) as (client, _):
        await listed(client, "enormous__grow")
        assert len(await says(client, "enormous__grow", {"mb": 3})) == 3 << 20


def _answers(asked: Message) -> Any:
    match asked["method"]:
        case "sampling/createMessage":
            said = asked["params"]["messages"][0]["content"]["text"]
            return {"role": "assistant", "model": "m", "content": {"type": "text", "text": f"re {said}"}}
        case "elicitation/create":
            return {"action": "accept", "content": {"mark": asked["params"]["message"]}}
        case _:
            return {"roots": [{"uri": "file:///root-of-the-test"}]}


async def talk(client: Client, mark: str) -> Message:
    """Call the talkative one and answer whatever it asks, in either revision."""
    params: Message = {"name": "talker__talk", "arguments": {"mark": mark}, "_meta": {"progressToken": mark}}
    if client.revision == STATELESS:
        params["_meta"] |= {"io.modelcontextprotocol/logLevel": "info"}
        while (result := await client.result("tools/call", params)).get("resultType") == "input_required":
            answers = {key: _answers(asked) for key, asked in result["inputRequests"].items()}
            params = params | {"inputResponses": answers, "requestState": result["requestState"]}
        return result
    asking = asyncio.get_running_loop().create_task(client.result("tools/call", params))
    for _ in range(3):
        while "id" not in (asked := await client.wire.news.get()):
            client.house.trail.rows.append(("news", json.dumps(asked), ""))
        await client.answer(asked["id"], _answers(asked))
    return await asking


@requirement("gateway.faults")
async def test_all_that_a_server_says_and_asks_at_a_call_reaches_its_caller(front: Front) -> None:
    async with front(talker=a_server("faults.talkative")) as (client, _):
        await listed(client, "talker__talk")
        heard = json.loads((await talk(client, "m1"))["content"][0]["text"])
        assert heard["sampled"]["content"]["text"] == "re m1"
        assert heard["elicited"]["content"] == {"mark": "m1"}
        assert heard["roots"]["roots"] == [{"uri": "file:///root-of-the-test"}]
        await echoes(client, "talker")


@requirement("gateway.faults")
def test_a_noisy_server_behind_limen_on_stdio(limen_bin: Path, home: Home) -> None:
    entry = {"command": sys.executable, "args": ["-S", "-m", "tests.servers.faults.garbage"], "cwd": str(ROOT)}
    settings = {"toolsets": ["hub"], "servers": {"noisy": entry, "silent": {"command": "there-is-no-such-program"}}}
    (home.path / "limen.yaml").write_text(json.dumps(settings))
    calls = [("tools/call", {"name": "noisy__echo", "arguments": {"n": number}}) for number in range(5)]
    listed, *answers = Shell(limen_bin, home).call(
        ("tools/list", {}), *calls, options=("--config", str(home.path / "limen.yaml"))
    )
    assert "noisy__echo" in [tool["name"] for tool in listed["result"]["tools"]]
    assert [json.loads(answer["result"]["content"][0]["text"]) for answer in answers] == [{"n": n} for n in range(5)]
