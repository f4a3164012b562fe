"""What a session of 2025-11-25 is over HTTP: its id, its principal, its end, and its event streams."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import pytest

from limen.calls.changes import ListChanged, ResourceUpdated
from limen.server.http import HttpLimits
from tests.house import House
from tests.requirements import requirement
from tests.road.doors import MEDIA, SESSION, STATELESS, USER_HEADER, Client, HttpWire, Hub, hello, open_hub
from tests.road.workshop import Workshop

pytestmark = pytest.mark.anyio


async def opened(hub: Hub, house: House, *, user: str | None = None) -> tuple[Client, HttpWire]:
    """A session of its own, without a stream."""
    wire = HttpWire(hub, user=user)
    client = Client(wire, SESSION, "http", house)
    await client.result("initialize", hello(capabilities={"elicitation": {}, "roots": {}}))
    return client, wire


async def post(hub: Hub, message: dict[str, Any], **headers: str) -> tuple[int, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = await hub.client.post("/mcp", content=json.dumps(message).encode(), headers=MEDIA | named)
    return response.status_code, response.json() if response.content else None


def request(method: str, params: dict[str, Any] | None = None, message_id: int = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message_id, "method": method, "params": params or {}}


@asynccontextmanager
async def listening(wire: HttpWire, last_event_id: str | None = None) -> AsyncGenerator[asyncio.Queue[Any], None]:
    """The messages of the session's stream; None when it ended."""
    heard: asyncio.Queue[Any] = asyncio.Queue()
    started = asyncio.Event()

    async def read() -> None:
        async with wire.stream(last_event_id) as response:
            assert response.status_code == 200
            assert response.headers["content-type"] == "text/event-stream"
            started.set()
            async for message in wire.messages(response):
                heard.put_nowait(message)
        heard.put_nowait(None)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(read())
        await started.wait()
        yield heard
        task.cancel()


@requirement("session.no-session-on-refusal", "session.strict-version")
@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", STATELESS, "nonsense"])
async def test_a_refused_initialize_is_400_and_leaves_no_session(hub: Hub, version: str) -> None:
    body = json.dumps(request("initialize", hello(version))).encode()
    response = await hub.client.post("/mcp", content=body, headers=MEDIA)
    assert response.status_code == 400
    assert "mcp-session-id" not in response.headers
    assert response.json()["error"]["data"]["supported"] == [SESSION]
    assert len(hub.door.sessions) == 0


@requirement("session.initialize", "session.unguessable-id")
async def test_an_accepted_initialize_gives_an_id_that_is_needed_from_then_on(hub: Hub, house: House) -> None:
    client, wire = await opened(hub, house)
    assert len(wire.headers["mcp-session-id"]) >= 32
    assert len(hub.door.sessions) == 1
    assert await client.result("ping") == {}
    status, answer = await post(hub, request("ping"))
    assert (status, answer["error"]["data"]["field"]) == (400, "Mcp-Session-Id")


@requirement("session.unguessable-id")
@pytest.mark.parametrize("session_id", ["made-up", "a" * 32, "", "é".encode("latin-1").decode("latin-1")])
async def test_an_unknown_session_is_404(hub: Hub, session_id: str) -> None:
    headers = {
        name.encode(): value.encode("latin-1") for name, value in (MEDIA | {"mcp-session-id": session_id}).items()
    }
    response = await hub.client.post("/mcp", content=json.dumps(request("ping")).encode(), headers=headers)
    assert (response.status_code, response.json()["error"]["data"]["code"]) == (404, "session_not_found")


@requirement("session.bound-to-principal")
async def test_a_session_answers_only_to_the_principal_who_opened_it(hub: Hub, house: House) -> None:
    client, wire = await opened(hub, house, user="local:ada")
    stolen = {"mcp_session_id": wire.headers["mcp-session-id"], USER_HEADER: "local:bob"}
    assert (await post(hub, request("tools/list"), **stolen))[0] == 404
    assert (await post(hub, request("tools/list"), mcp_session_id=stolen["mcp_session_id"]))[0] == 404
    thief = HttpWire(hub, user="local:bob")
    thief.headers["mcp-session-id"] = stolen["mcp_session_id"]
    async with thief.stream() as response:
        assert response.status_code == 404
    assert (await hub.client.delete("/mcp", headers=thief.headers)).status_code == 404
    assert await client.result("ping") == {}


@requirement("session.idle-expiry")
async def test_a_session_idle_past_its_time_is_404(house: House) -> None:
    async with open_hub(house, HttpLimits(session_idle_s=0.05)) as hub:
        _, wire = await opened(hub, house)
        await anyio.sleep(0.1)
        status, answer = await post(hub, request("ping"), mcp_session_id=wire.headers["mcp-session-id"])
        assert (status, answer["error"]["data"]["code"]) == (404, "session_not_found")


@requirement("session.idle-expiry")
async def test_a_session_with_a_call_in_flight_is_not_idle(house: House, workshop: Workshop) -> None:
    async with open_hub(house, HttpLimits(session_idle_s=0.5)) as hub:
        client, _ = await opened(hub, house)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(client.call("wait"))
            await workshop.started.wait()
            await anyio.sleep(0.6)
            hub.door.sessions.expire()
            assert len(hub.door.sessions) == 1
            workshop.go.set()
        assert task.result()["content"][0]["text"] == "went on"


@requirement("session.delete")
async def test_delete_ends_the_session_and_its_stream(hub: Hub, house: House) -> None:
    _, wire = await opened(hub, house)
    async with listening(wire) as heard:
        response = await hub.client.delete("/mcp", headers=wire.headers)
        assert response.status_code == 204
        with anyio.fail_after(4):
            while await heard.get() is not None:
                pass
    assert (await post(hub, request("ping"), mcp_session_id=wire.headers["mcp-session-id"]))[0] == 404
    assert (await hub.client.delete("/mcp", headers=wire.headers)).status_code == 404


@requirement("session.delete")
async def test_delete_cancels_the_calls_of_the_session_and_they_are_recorded(
    hub: Hub, house: House, workshop: Workshop
) -> None:
    client, wire = await opened(hub, house)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(client.wire.send(client.request("tools/call", {"name": "wait", "arguments": {}})))
        await workshop.started.wait()
        assert (await hub.client.delete("/mcp", headers=wire.headers)).status_code == 204
        with anyio.fail_after(4):
            await workshop.cancelled.wait()
            answer = await task
    assert answer is None or "error" in answer
    assert house.trail.outcomes == ["cancelled"]


async def test_delete_without_a_session_is_400(hub: Hub) -> None:
    assert (await hub.client.delete("/mcp")).status_code == 400


@requirement("session.header-mismatch")
@pytest.mark.parametrize("version", ["2025-06-18", "2024-11-05", "nonsense", ""])
async def test_a_version_header_that_differs_from_the_sessions_is_400(hub: Hub, house: House, version: str) -> None:
    client, wire = await opened(hub, house)
    session_id = wire.headers["mcp-session-id"]
    status, answer = await post(hub, request("ping"), mcp_session_id=session_id, mcp_protocol_version=version)
    assert (status, answer["error"]["data"]["field"]) == (400, "MCP-Protocol-Version")
    headers = wire.headers | {"mcp-protocol-version": version}
    assert (await hub.client.delete("/mcp", headers=headers)).status_code == 400
    wire.headers["mcp-protocol-version"] = SESSION
    assert await client.result("ping") == {}


@requirement("session.header-mismatch")
async def test_a_session_id_beside_the_stateless_version_is_400(hub: Hub, house: House) -> None:
    _, wire = await opened(hub, house)
    status, answer = await post(
        hub, request("ping"), mcp_session_id=wire.headers["mcp-session-id"], mcp_protocol_version=STATELESS
    )
    assert status == 400
    assert "error" in answer


async def test_notifications_and_answers_are_accepted_with_202(hub: Hub, house: House) -> None:
    _, wire = await opened(hub, house)
    session_id = wire.headers["mcp-session-id"]
    told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert await post(hub, told, mcp_session_id=session_id) == (202, None)
    assert await post(hub, {"jsonrpc": "2.0", "id": 5, "result": {}}, mcp_session_id=session_id) == (202, None)
    assert (await post(hub, told))[0] == 400


@requirement("stream.primer")
async def test_a_new_stream_begins_with_a_primer_event(hub: Hub, house: House) -> None:
    _, wire = await opened(hub, house)
    async with wire.stream() as response:
        first = b""
        async for chunk in response.aiter_raw():
            first += chunk
            if b"\n\n" in first:
                break
    lines = first.split(b"\n\n")[0].split(b"\n")
    assert lines[0].startswith(b"id: ")
    assert any(line.startswith(b"retry: ") for line in lines)
    assert lines[-1] == b"data: "
    assert response.headers["x-accel-buffering"] == "no"
    assert "no-cache" in response.headers["cache-control"]


@requirement("stream.live")
async def test_notifications_reach_the_open_stream_of_their_session_alone(hub: Hub, house: House) -> None:
    ada, adas = await opened(hub, house, user="local:ada")
    _, bobs = await opened(hub, house, user="local:bob")
    await ada.result("resources/subscribe", {"uri": "x://note"})
    async with listening(adas) as ada_hears, listening(bobs) as bob_hears:
        house.changes.publish(ResourceUpdated("x://note"))
        house.changes.publish(ListChanged("tool"))
        heard = [(await ada_hears.get())["method"] for _ in range(2)]
        assert heard == ["notifications/resources/updated", "notifications/tools/list_changed"]
        assert (await bob_hears.get())["method"] == "notifications/tools/list_changed"


@requirement("stream.readiness", "session.log-level")
async def test_readiness_and_level_changes_are_told_as_log_messages(hub: Hub, house: House) -> None:
    client, wire = await opened(hub, house)
    async with listening(wire) as heard:
        await client.tell("notifications/initialized")
        ready = await heard.get()
        assert (ready["method"], ready["params"]["level"]) == ("notifications/message", "info")
        assert "ready" in ready["params"]["data"]
        await client.result("logging/setLevel", {"level": "warning"})
        changed = await heard.get()
        assert (changed["method"], changed["params"]["level"]) == ("notifications/message", "warning")
        assert "warning" in changed["params"]["data"]


@requirement("stream.readiness")
async def test_what_was_told_before_the_stream_was_opened_is_heard_on_it(hub: Hub, house: House) -> None:
    client, wire = await opened(hub, house)
    await client.tell("notifications/initialized")
    async with listening(wire) as heard:
        assert "ready" in (await heard.get())["params"]["data"]


@requirement("stream.keepalive")
async def test_an_idle_stream_carries_comments(house: House) -> None:
    async with open_hub(house, HttpLimits(keepalive_s=0.02)) as hub:
        _, wire = await opened(hub, house)
        async with listening(wire) as heard:
            for _ in range(3):
                await wire.comments.get()
            house.changes.publish(ListChanged("tool"))
            assert (await heard.get())["method"] == "notifications/tools/list_changed"


@requirement("stream.keepalive")
async def test_a_slow_call_turns_into_a_stream_with_comments_and_is_answered_on_it(
    house: House, workshop: Workshop
) -> None:
    async with open_hub(house, HttpLimits(keepalive_s=0.02)) as hub:
        client, wire = await opened(hub, house)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(client.call("wait"))
            for _ in range(2):
                await wire.comments.get()
            workshop.go.set()
        assert task.result()["content"][0]["text"] == "went on"


@requirement("stream.replay")
async def test_after_last_event_id_come_the_events_that_followed_it_and_then_the_live_ones(
    hub: Hub, house: House
) -> None:
    _, wire = await opened(hub, house)
    async with listening(wire) as heard:
        house.changes.publish(ListChanged("tool"))
        await heard.get()
    seen = wire.event_ids[-1]
    house.changes.publish(ListChanged("prompt"))
    house.changes.publish(ListChanged("resource"))
    async with listening(wire, seen) as heard:
        missed = [(await heard.get())["method"] for _ in range(2)]
        assert missed == ["notifications/prompts/list_changed", "notifications/resources/list_changed"]
        house.changes.publish(ListChanged("tool"))
        assert (await heard.get())["method"] == "notifications/tools/list_changed"


@requirement("stream.replay-own-session")
async def test_an_event_id_of_another_session_replays_nothing(hub: Hub, house: House) -> None:
    _, adas = await opened(hub, house, user="local:ada")
    _, bobs = await opened(hub, house, user="local:bob")
    for wire in (adas, bobs):
        async with listening(wire) as heard:
            house.changes.publish(ListChanged("tool"))
            await heard.get()
    async with listening(bobs) as heard:
        house.changes.publish(ListChanged("prompt"))
        await heard.get()
    async with listening(bobs, adas.event_ids[0]) as heard:
        house.changes.publish(ListChanged("resource"))
        assert (await heard.get())["method"] == "notifications/resources/list_changed"


@requirement("stream.replay-own-session")
@pytest.mark.parametrize("event_id", ["", "x", "1.live", "0.live.00000000", "9" * 5000 + ".live.x", "-1", "\u00e9"])
async def test_an_event_id_that_was_never_issued_opens_a_stream_all_the_same(
    hub: Hub, house: House, event_id: str
) -> None:
    _, wire = await opened(hub, house)
    headers = {
        name.encode(): value.encode("latin-1") for name, value in (wire.headers | {"last-event-id": event_id}).items()
    }
    async with hub.client.stream("GET", "/mcp", headers=headers) as response:
        assert response.status_code == 200
        async for message in _published(house, wire.messages(response)):
            assert message["method"] == "notifications/tools/list_changed"
            break


async def _published(house: House, messages: Any) -> AsyncGenerator[dict[str, Any], None]:
    house.changes.publish(ListChanged("tool"))
    async for message in messages:
        yield message


@requirement("stream.bounded-buffer")
async def test_only_so_many_events_are_kept_and_the_oldest_go_first(house: House) -> None:
    async with open_hub(house, HttpLimits(event_buffer=3)) as hub:
        client, wire = await opened(hub, house)
        await client.result("resources/subscribe", {"uri": "x://note"})
        async with listening(wire) as heard:
            house.changes.publish(ListChanged("tool"))
            await heard.get()
        seen = wire.event_ids[-1]
        for kind in ("tool", "tool", "prompt", "resource", "tool"):
            house.changes.publish(ListChanged(kind))
        async with listening(wire, seen) as heard:
            house.changes.publish(ResourceUpdated("x://note"))
            methods = [(await heard.get())["method"].removeprefix("notifications/") for _ in range(4)]
            assert methods == [
                "prompts/list_changed",
                "resources/list_changed",
                "tools/list_changed",
                "resources/updated",
            ]


@requirement("stream.slow-reader")
async def test_a_reader_that_does_not_keep_up_is_dropped_and_nobody_waits_for_it(house: House) -> None:
    page = "x://page/" + "9" * 4000
    async with open_hub(house, HttpLimits(send_queue=8)) as hub:
        slow, slow_wire = await opened(hub, house)
        quick, quick_wire = await opened(hub, house)
        for client in (slow, quick):
            await client.result("resources/subscribe", {"uri": page})
        with deaf(hub, slow_wire) as connection:
            async with listening(quick_wire) as heard:
                for _ in range(1500):
                    house.changes.publish(ResourceUpdated(page))
                    assert (await heard.get())["params"]["uri"] == page
            # Had it only been made to wait, there would be no end to read to.
            with anyio.fail_after(4):
                while await asyncio.get_running_loop().sock_recv(connection, 1 << 20):
                    pass
        assert await slow.result("ping") == {}
        async with listening(slow_wire) as heard:
            house.changes.publish(ListChanged("prompt"))
            while (await heard.get())["method"] != "notifications/prompts/list_changed":
                pass


@contextmanager
def deaf(hub: Hub, wire: HttpWire) -> Generator[socket.socket]:
    """The connection of a client that opens its stream and does not read it."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", hub.port))
        connection.setblocking(False)
        lines = [f"{name}: {value}" for name, value in wire.headers.items()]
        connection.send("\r\n".join(["GET /mcp HTTP/1.1", f"host: 127.0.0.1:{hub.port}", *lines, "", ""]).encode())
        yield connection


@requirement("stream.replay")
async def test_a_call_that_lets_go_of_its_stream_is_answered_when_the_client_comes_back(
    hub: Hub, house: House, workshop: Workshop
) -> None:
    client, wire = await opened(hub, house)
    answer = await wire.send(client.request("tools/call", {"name": "let_go", "arguments": {}}, message_id="later"))
    assert answer is None
    await workshop.started.wait()
    async with listening(wire, wire.event_ids[-1]) as heard:
        workshop.go.set()
        reply = await heard.get()
        assert (reply["id"], reply["result"]["content"][0]["text"]) == ("later", "came back")
        assert await heard.get() is None


@requirement("stream.replay")
async def test_the_answer_to_a_call_whose_client_was_away_is_replayed(
    hub: Hub, house: House, workshop: Workshop
) -> None:
    client, wire = await opened(hub, house)
    assert (
        await wire.send(client.request("tools/call", {"name": "let_go", "arguments": {}}, message_id="later")) is None
    )
    workshop.go.set()
    await house.trail.reaches(2)
    async with listening(wire, wire.event_ids[-1]) as heard:
        assert (await heard.get())["id"] == "later"
        assert await heard.get() is None


@requirement("stream.replay")
async def test_a_call_whose_client_hung_up_goes_on_and_is_recorded(hub: Hub, house: House, workshop: Workshop) -> None:
    client, wire = await opened(hub, house)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(wire.send(client.request("tools/call", {"name": "wait", "arguments": {}})))
        await workshop.started.wait()
        task.cancel()
    workshop.go.set()
    await house.trail.reaches(2)
    assert house.trail.outcomes == ["ok"]


async def test_as_many_sessions_as_there_may_be_are_opened_and_no_more(house: House) -> None:
    async with open_hub(house, HttpLimits(max_sessions=2)) as hub:
        _, first = await opened(hub, house)
        await opened(hub, house)
        status, answer = await post(hub, request("initialize", hello()))
        assert (status, answer["error"]["data"]["code"]) == (503, "overloaded")
        await hub.client.delete("/mcp", headers=first.headers)
        await opened(hub, house)


@requirement("audit.cancelled-recorded")
async def test_a_call_in_flight_when_the_hub_stops_is_cancelled_and_recorded(house: House, workshop: Workshop) -> None:
    with anyio.fail_after(4):
        async with asyncio.TaskGroup() as group:
            async with open_hub(house) as hub:
                client, wire = await opened(hub, house)
                message = client.request("tools/call", {"name": "wait", "arguments": {}})
                task = group.create_task(_tolerant(wire, message))
                await workshop.started.wait()
            await task
    assert house.trail.outcomes == ["cancelled"]


async def _tolerant(wire: HttpWire, message: dict[str, Any]) -> None:
    try:
        await wire.send(message)
    except (OSError, ValueError, RuntimeError):
        return
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "httpx2":
            raise
