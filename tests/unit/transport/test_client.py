"""The client against servers of either revision, played by hand over a channel in memory."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from limen.errors import (
    ChannelClosed,
    Denied,
    LimenError,
    MethodNotFound,
    RemoteError,
    RequestTimeout,
    UnsupportedVersion,
    UpstreamError,
)
from limen.protocol.frames import Notification
from limen.protocol.versions import META_CLIENT_CAPABILITIES, META_CLIENT_INFO, META_VERSION, SERVED, Revision
from limen.transport.channel import Channel
from limen.transport.client import McpClient, open_client
from limen.transport.handshake import ClientProfile
from limen.transport.memory import memory_pair

pytestmark = pytest.mark.anyio

PROFILE = ClientProfile("tester", "1", {"elicitation": {}})

Script = Callable[[str, dict[str, Any]], Any]
"""Method and params in; a result, an error (code, data) as an exception, or None for silence."""


class RpcError(Exception):
    """What a scripted server answers as an error."""

    def __init__(self, code: int, data: object = None) -> None:
        super().__init__(code)
        self.error = {"code": code, "message": "no", **({} if data is None else {"data": data})}


class Host:
    """Answers forms with a name, and remembers what it heard."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    async def answer(self, method: str, params: bytes, context: object) -> bytes:
        if method != "elicitation/create":
            raise MethodNotFound(f"no {method}")
        return json.dumps({"action": "accept", "asked": json.loads(params)}).encode()

    def hear(self, notification: Notification, context: object) -> None:
        self.heard.append(notification.method)


async def play(channel: Channel, script: Script, seen: list[dict[str, Any]]) -> None:
    while (frame := await channel.receive()) is not None:
        message = json.loads(frame)
        seen.append(message)
        if "method" not in message or "id" not in message:
            continue
        try:
            result = script(message["method"], message["params"])
        except RpcError as told:
            answer: dict[str, Any] = {"error": told.error}
        else:
            if result is None:
                continue
            answer = {"result": result}
        await channel.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}).encode())


@asynccontextmanager
async def connected(
    script: Script, *, revisions: Sequence[Revision] = SERVED, host: Host | None = None, timeout_s: float = 3
) -> AsyncGenerator[tuple[McpClient, list[dict[str, Any]], Channel]]:
    ours, theirs = memory_pair()
    seen: list[dict[str, Any]] = []
    failure: LimenError | None = None
    async with asyncio.TaskGroup() as group:
        group.create_task(play(theirs, script, seen))
        try:
            async with open_client(ours, PROFILE, host or Host(), revisions=revisions, timeout_s=timeout_s) as client:
                yield client, seen, theirs
        except LimenError as error:
            failure = error
        finally:
            await ours.aclose()
    if failure is not None:
        raise failure


def modern(method: str, params: dict[str, Any]) -> Any:
    if method == "server/discover":
        return {"supportedVersions": ["2026-07-28"], "capabilities": {}, "resultType": "complete"}
    return {"params": params}


def legacy(method: str, params: dict[str, Any]) -> Any:
    if method == "initialize":
        return {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "old", "version": "1"}}
    if method == "server/discover":
        raise RpcError(-32601)
    return {"params": params}


async def shake(script: Script, revisions: Sequence[Revision] = SERVED, timeout_s: float = 3) -> list[dict[str, Any]]:
    async with connected(script, revisions=revisions, timeout_s=timeout_s) as (_, seen, _theirs):
        return seen


async def test_a_modern_server_is_spoken_to_with_an_envelope_on_every_request() -> None:
    async with connected(modern) as (client, seen, _):
        assert client.agreement.is_stateless
        await client.request("tools/list", b'{"cursor":"c","_meta":{"mine":1}}')
    assert [message["method"] for message in seen] == ["server/discover", "tools/list"]
    meta = seen[1]["params"].pop("_meta")
    assert seen[1]["params"] == {"cursor": "c"}
    assert meta == {
        "mine": 1,
        META_VERSION: "2026-07-28",
        META_CLIENT_INFO: {"name": "tester", "version": "1"},
        META_CLIENT_CAPABILITIES: {"elicitation": {}},
    }


async def test_a_server_without_discovery_is_greeted_the_older_way() -> None:
    async with connected(legacy) as (client, seen, _):
        assert client.agreement.version == "2025-06-18"
        assert json.loads(client.agreement.greeting)["serverInfo"]["name"] == "old"
        await client.request("tools/list")
    methods = [message["method"] for message in seen]
    assert methods == ["server/discover", "initialize", "notifications/initialized", "tools/list"]
    assert seen[1]["params"]["protocolVersion"] == "2025-11-25"
    assert "_meta" not in seen[3]["params"]


async def test_a_server_that_stays_silent_is_greeted_the_older_way() -> None:
    def silent(method: str, params: dict[str, Any]) -> Any:
        return None if method == "server/discover" else legacy(method, params)

    seen = await shake(silent, timeout_s=0.2)
    assert [m["method"] for m in seen[:3]] == ["server/discover", "notifications/cancelled", "initialize"]


async def test_a_server_that_names_the_revision_in_its_refusal_is_asked_again() -> None:
    refused: list[str] = []

    def once(method: str, params: dict[str, Any]) -> Any:
        if not refused:
            refused.append(method)
            raise RpcError(-32022, {"supported": ["2026-07-28"], "requested": "2026-07-28"})
        return modern(method, params)

    assert [m["method"] for m in await shake(once)] == ["server/discover", "server/discover"]


async def test_a_modern_server_that_has_only_sessions_is_given_one() -> None:
    def old_heart(method: str, params: dict[str, Any]) -> Any:
        if method == "server/discover":
            raise RpcError(-32022, {"supported": ["2025-11-25"], "requested": "2026-07-28"})
        return {"protocolVersion": "2025-11-25", "capabilities": {}}

    assert (await shake(old_heart))[1]["method"] == "initialize"


async def test_a_server_that_answers_anything_with_nothing_is_greeted_the_older_way() -> None:
    def agreeable(method: str, params: dict[str, Any]) -> Any:
        return {} if method == "server/discover" else legacy(method, params)

    assert [m["method"] for m in (await shake(agreeable))[:2]] == ["server/discover", "initialize"]
    with pytest.raises(UpstreamError, match="server/discover"):
        await shake(agreeable, revisions=["2026-07-28"])
    with pytest.raises(UpstreamError, match="initialize"):
        await shake(lambda method, params: {}, revisions=["2025-11-25"])


async def test_a_discovery_that_lists_only_older_revisions_leads_to_initialize() -> None:
    def listed(method: str, params: dict[str, Any]) -> Any:
        return {"supportedVersions": ["2025-11-25"]} if method == "server/discover" else legacy(method, params)

    assert (await shake(listed))[1]["method"] == "initialize"


@pytest.mark.parametrize("code", [-32020, -32021])
async def test_a_modern_refusal_is_no_reason_to_fall_back(code: int) -> None:
    def refusing(method: str, params: dict[str, Any]) -> Any:
        raise RpcError(code)

    with pytest.raises(RemoteError) as caught:
        await shake(refusing)
    assert caught.value.rpc_code == code


async def test_only_allowed_revisions_are_tried() -> None:
    assert [m["method"] for m in await shake(legacy, ["2025-11-25"])] == ["initialize", "notifications/initialized"]
    with pytest.raises(RemoteError):
        await shake(legacy, ["2026-07-28"])


async def test_a_revision_nobody_here_speaks_is_refused() -> None:
    with pytest.raises(UnsupportedVersion):
        await shake(lambda method, params: {"protocolVersion": "1999-01-01"}, ["2025-11-25"])


async def test_a_call_that_needs_input_is_made_again_with_it_and_with_the_state_as_it_came() -> None:
    def asking(method: str, params: dict[str, Any]) -> Any:
        if method != "tools/call" or "inputResponses" in params:
            return modern(method, params)
        questions = {"who": {"method": "elicitation/create", "params": {"message": "name?"}}}
        return {"resultType": "input_required", "inputRequests": questions, "requestState": 'op"aque\\u00e9'}

    async with connected(asking) as (client, seen, _):
        await client.call_tool("greet", b'{"a":1}')
    first, second = seen[1], seen[2]
    assert first["id"] != second["id"]
    assert "requestState" not in first["params"]
    assert second["params"]["requestState"] == 'op"aque\\u00e9'
    assert second["params"]["inputResponses"] == {"who": {"action": "accept", "asked": {"message": "name?"}}}
    assert (second["params"]["name"], second["params"]["arguments"]) == ("greet", {"a": 1})


async def test_a_state_that_was_not_given_is_not_sent() -> None:
    rounds: list[int] = []

    def asking(method: str, params: dict[str, Any]) -> Any:
        if method != "prompts/get" or len(rounds) == 2:
            return modern(method, params)
        rounds.append(1)
        state = {"requestState": "s"} if len(rounds) == 1 else {}
        return {"resultType": "input_required", "inputRequests": {}, **state}

    async with connected(asking) as (client, seen, _):
        await client.get_prompt("p")
    assert [m["params"].get("requestState") for m in seen[1:]] == [None, "s", None]


async def test_a_server_that_never_stops_asking_is_given_up() -> None:
    def asking(method: str, params: dict[str, Any]) -> Any:
        return (
            {"resultType": "input_required", "requestState": "s"} if method == "tools/call" else modern(method, params)
        )

    async with connected(asking) as (client, _, _theirs):
        with pytest.raises(UpstreamError):
            await client.call_tool("greet")


async def test_lists_are_read_to_their_last_page_and_items_stay_as_they_are() -> None:
    pages: dict[str | None, Any] = {
        None: {"tools": [{"name": "a", "x-unknown": [1.0]}], "nextCursor": "2"},
        "2": {"tools": [{"name": "b"}], "nextCursor": None},
    }

    def paged(method: str, params: dict[str, Any]) -> Any:
        return pages[params.get("cursor")] if method == "tools/list" else modern(method, params)

    async with connected(paged) as (client, _, _theirs):
        assert await client.list_tools() == [b'{"name": "a", "x-unknown": [1.0]}', b'{"name": "b"}']


@pytest.mark.parametrize("answer", [{}, {"tools": 5}, {"tools": [], "nextCursor": 7}])
async def test_a_list_that_is_none_is_the_servers_fault(answer: dict[str, Any]) -> None:
    async with connected(lambda m, p: answer if m == "tools/list" else modern(m, p)) as (client, _, _theirs):
        with pytest.raises(UpstreamError):
            await client.list_tools()


async def test_what_the_server_asks_is_answered_and_what_it_tells_is_heard() -> None:
    host = Host()
    async with connected(legacy, host=host) as (client, seen, theirs):
        await theirs.send(b'{"jsonrpc":"2.0","id":"p","method":"ping"}')
        await theirs.send(b'{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{"message":"?"}}')
        await theirs.send(b'{"jsonrpc":"2.0","id":"r","method":"roots/list"}')
        await theirs.send(b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
        await client.request("tools/list")
    answers = {message["id"]: message for message in seen if "method" not in message}
    assert answers["p"]["result"] == {}
    assert answers["e"]["result"]["asked"] == {"message": "?"}
    assert answers["r"]["error"]["code"] == -32601
    assert host.heard == ["notifications/tools/list_changed"]


async def test_errors_of_the_server_keep_their_code_and_data() -> None:
    def failing(method: str, params: dict[str, Any]) -> Any:
        if method == "tools/call":
            raise RpcError(-32042, {"url": "u"})
        return modern(method, params)

    async with connected(failing) as (client, _, _theirs):
        with pytest.raises(RemoteError) as caught:
            await client.call_tool("x")
    assert (caught.value.rpc_code, json.loads(caught.value.data or b"")) == (-32042, {"url": "u"})


async def test_a_server_that_goes_fails_what_is_in_flight() -> None:
    reached = asyncio.Event()

    def silent(method: str, params: dict[str, Any]) -> Any:
        if method != "tools/call":
            return modern(method, params)
        reached.set()
        return None

    async with connected(silent) as (client, _, theirs), asyncio.TaskGroup() as group:
        group.create_task(expect_closed(client))
        await reached.wait()
        await theirs.aclose()


async def expect_closed(client: McpClient) -> None:
    with pytest.raises(ChannelClosed):
        await client.call_tool("x")


async def test_a_request_past_its_deadline_is_taken_back() -> None:
    async with connected(lambda m, p: None if m == "tools/call" else modern(m, p)) as (client, seen, _):
        with pytest.raises(RequestTimeout):
            await client.request("tools/call", b'{"name":"x"}', timeout_s=0.05)
    assert seen[-1]["method"] == "notifications/cancelled"


async def test_an_error_in_the_block_leaves_it_as_it_is() -> None:
    with pytest.raises(Denied):
        await fail_inside()


async def fail_inside() -> None:
    async with connected(modern):
        raise Denied("mine", rule="r")
