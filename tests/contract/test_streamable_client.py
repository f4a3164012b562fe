"""The client side of Streamable HTTP against a real server whose every answer the test writes."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from limen.errors import (
    AuthRequired,
    ChannelClosed,
    ConfigInvalid,
    Denied,
    LimenError,
    Overloaded,
    SessionNotFound,
    Unreachable,
    UpstreamError,
)
from limen.protocol.frames import encode_notification, encode_reply, encode_request
from limen.protocol.versions import META_VERSION
from limen.transport.channel import Channel
from limen.transport.client import open_client
from limen.transport.handshake import ClientProfile
from limen.transport.http import HttpChannel, HttpOptions, open_http
from tests.servers.streamable import Exchange, Handler, Peer, http_peer

pytestmark = pytest.mark.anyio

INITIALIZE = encode_request(1, "initialize")
INITIALIZED = encode_notification("notifications/initialized")


@asynccontextmanager
async def opened(
    handler: Handler, headers: Mapping[str, str] | None = None, **more: Any
) -> AsyncGenerator[tuple[Peer, HttpChannel]]:
    options = HttpOptions(headers or {}, 100_000, **more)
    async with http_peer(handler) as peer, open_http(peer.url, options) as channel:
        yield peer, channel


async def heard(channel: Channel) -> Any:
    frame = await channel.receive()
    assert frame is not None
    return json.loads(frame)


async def initialize(channel: HttpChannel) -> None:
    await channel.send(INITIALIZE)
    await channel.receive()
    channel.protocol_version = "2025-11-25"


async def session_server(exchange: Exchange) -> None:
    """Opens sessions, echoes requests, has no stream of its own."""
    if exchange.verb != "POST":
        await exchange.answer(405)
    elif "id" not in exchange.message or "method" not in exchange.message:
        await exchange.answer(202)
    elif exchange.message["method"] == "initialize":
        await exchange.result({}, Mcp_Session_Id="s-1")
    else:
        await exchange.result(exchange.message["params"])


async def test_the_session_id_and_revision_are_sent_from_the_handshake_on_and_the_session_is_ended() -> None:
    async with opened(session_server, {"authorization": "Bearer t"}) as (peer, channel):
        await initialize(channel)
        await channel.send(encode_request(2, "ping"))
        await channel.aclose()
    first, second, last = peer.asked
    assert "mcp-session-id" not in first.headers
    assert "mcp-protocol-version" not in first.headers
    assert (second.headers["mcp-session-id"], second.headers["mcp-protocol-version"]) == ("s-1", "2025-11-25")
    assert (last.verb, last.headers["mcp-session-id"]) == ("DELETE", "s-1")
    assert {exchange.headers["authorization"] for exchange in peer.asked} == {"Bearer t"}
    assert first.headers["accept"] == "application/json, text/event-stream"
    assert first.headers["content-type"] == "application/json"


async def test_a_server_without_a_stream_of_its_own_is_fine() -> None:
    asked_for = asyncio.Event()

    async def handler(exchange: Exchange) -> None:
        await session_server(exchange)
        if exchange.verb == "GET":
            asked_for.set()

    async with opened(handler) as (peer, channel):
        await initialize(channel)
        await channel.send(INITIALIZED)
        await asked_for.wait()
        await channel.send(encode_request(2, "echo", b'{"a":1}'))
        assert await heard(channel) == {"jsonrpc": "2.0", "id": 2, "result": {"a": 1}}
    assert len(peer.of("GET")) == 1


async def test_the_servers_own_stream_is_heard_and_resumed_after_its_last_event() -> None:
    async def handler(exchange: Exchange) -> None:
        if exchange.verb != "GET":
            await session_server(exchange)
            return
        await exchange.begin_events()
        if "last-event-id" in exchange.headers:
            await exchange.frame({"after": exchange.headers["last-event-id"]})
            await exchange.client_gone()
        else:
            await exchange.event("id: e-0\nretry: 1\ndata:\n\n")
            await exchange.frame({"number": 1}, "e-1")
            exchange.cut()

    async with opened(handler) as (peer, channel):
        await initialize(channel)
        await channel.send(INITIALIZED)
        assert [await heard(channel), await heard(channel)] == [{"number": 1}, {"after": "e-1"}]
        assert {exchange.headers["mcp-session-id"] for exchange in peer.of("GET")} == {"s-1"}


async def test_a_request_whose_stream_is_closed_early_is_followed_up_by_get() -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.begin_events()
        if exchange.verb == "POST":
            await exchange.event("id: p-1\nretry: 1\ndata:\n\n")
        elif exchange.headers["last-event-id"] == "p-1":
            await exchange.frame({"jsonrpc": "2.0", "method": "notifications/progress"}, "p-2")
        else:
            await exchange.frame({"jsonrpc": "2.0", "id": 5, "result": {}}, "p-3")
        await exchange.end_events()

    async with opened(handler) as (peer, channel):
        await channel.send(encode_request(5, "tools/call"))
        assert (await heard(channel))["method"] == "notifications/progress"
        assert await heard(channel) == {"jsonrpc": "2.0", "id": 5, "result": {}}
    assert [exchange.headers["last-event-id"] for exchange in peer.of("GET")] == ["p-1", "p-2"]


async def test_a_stream_that_ends_without_an_answer_and_cannot_be_resumed_fails_the_request() -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.begin_events()
        await exchange.frame({"jsonrpc": "2.0", "method": "notifications/progress"})
        exchange.cut()

    async with opened(handler) as (peer, channel):
        await channel.send(encode_request(5, "tools/call"))
        await heard(channel)
        assert (await heard(channel))["error"]["data"]["code"] == "unreachable"
    assert not peer.of("GET")


async def test_what_the_server_asks_on_a_stream_is_answered_by_a_post() -> None:
    answered = asyncio.Event()

    async def handler(exchange: Exchange) -> None:
        if "method" not in exchange.message:
            answered.set()
            await exchange.answer(202)
            return
        await exchange.begin_events()
        await exchange.frame({"jsonrpc": "2.0", "id": "q", "method": "ping", "params": {}})
        await answered.wait()
        await exchange.frame({"jsonrpc": "2.0", "id": 1, "result": {}})
        await exchange.end_events()

    async with opened(handler) as (_, channel):
        await channel.send(encode_request(1, "tools/call"))
        assert (await heard(channel))["method"] == "ping"
        await channel.send(encode_reply("q", b"{}"))
        assert (await heard(channel))["id"] == 1


async def test_a_lost_session_is_told_and_a_new_one_can_begin_on_the_same_channel() -> None:
    async def handler(exchange: Exchange) -> None:
        if exchange.headers.get("mcp-session-id") == "s-1":
            await exchange.json({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "gone"}}, 404)
        else:
            await session_server(exchange)

    async with opened(handler) as (peer, channel):
        await initialize(channel)
        with pytest.raises(SessionNotFound):
            await channel.send(encode_request(2, "ping"))
        await initialize(channel)
    assert "mcp-session-id" not in peer.of("POST")[2].headers


async def test_a_refused_caller_learns_what_the_server_wants() -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.json({"error": "x"}, 401, WWW_Authenticate='Bearer resource_metadata="u"')

    async with opened(handler) as (_, channel):
        with pytest.raises(AuthRequired) as caught:
            await channel.send(INITIALIZE)
    assert caught.value.facts["www_authenticate"] == 'Bearer resource_metadata="u"'


@pytest.mark.parametrize(
    ("status", "headers", "error"),
    [
        (400, {}, UpstreamError),
        (403, {}, Denied),
        (403, {"www_authenticate": 'Bearer error="insufficient_scope"'}, AuthRequired),
        (404, {}, Unreachable),
        (405, {}, Unreachable),
        (307, {"location": "http://elsewhere.example/"}, Unreachable),
        (429, {}, Overloaded),
        (500, {}, Unreachable),
        (503, {}, Unreachable),
        (202, {}, UpstreamError),
        (200, {"content_type": "text/html"}, UpstreamError),
    ],
)
async def test_every_status_that_is_no_answer_is_a_typed_error(
    status: int, headers: dict[str, str], error: type[LimenError]
) -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.answer(status, b"<html>", **headers)

    async with opened(handler) as (_, channel):
        with pytest.raises(error):
            await channel.send(encode_request(1, "tools/list"))


@pytest.mark.parametrize("status", [400, 404, 500])
async def test_a_json_rpc_error_in_an_error_status_answers_the_request(status: int) -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.json({"jsonrpc": "2.0", "id": None, "error": {"code": -32022, "message": "no"}}, status)

    async with opened(handler) as (_, channel):
        await channel.send(encode_request(9, "server/discover"))
        assert await heard(channel) == {"jsonrpc": "2.0", "id": 9, "error": {"code": -32022, "message": "no"}}


async def test_nobody_there_is_unreachable() -> None:
    async with http_peer(session_server) as peer:
        url = peer.url
    async with open_http(url, HttpOptions({}, 1000)) as channel:
        with pytest.raises(Unreachable):
            await channel.send(INITIALIZE)


@pytest.mark.parametrize("url", ["not a url", "http://", "ftp://localhost/", "http://[::1"])
async def test_a_url_that_is_none_is_unreachable(url: str) -> None:
    async with open_http(url, HttpOptions({}, 1000)) as channel:
        with pytest.raises(Unreachable):
            await channel.send(INITIALIZE)


async def test_a_connection_cut_before_the_answer_is_unreachable() -> None:
    async def handler(exchange: Exchange) -> None:
        exchange.cut()

    async with opened(handler) as (_, channel):
        with pytest.raises(Unreachable):
            await channel.send(INITIALIZE)


async def test_a_refused_notification_is_told_to_its_sender() -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.answer(400, b"no")

    async with opened(handler) as (_, channel):
        with pytest.raises(UpstreamError):
            await channel.send(INITIALIZED)


async def test_a_refused_reply_disturbs_nobody() -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.answer(400, b"no")

    async with opened(handler) as (_, channel):
        await channel.send(encode_reply(1, b"{}"))


async def test_many_requests_are_in_flight_at_once() -> None:
    everybody, count = asyncio.Event(), 150

    async def handler(exchange: Exchange) -> None:
        if len(peer.asked) == count:
            everybody.set()
        await everybody.wait()
        await exchange.result({})

    async with opened(handler) as (peer, channel):
        async with asyncio.TaskGroup() as group:
            for number in range(count):
                group.create_task(channel.send(encode_request(number, "tools/call")))
        assert {(await heard(channel))["id"] for _ in range(count)} == set(range(count))


def stateless(number: int, method: str, **params: object) -> bytes:
    return encode_request(number, method, json.dumps({**params, "_meta": {META_VERSION: "2026-07-28"}}).encode())


async def test_a_stateless_request_repeats_its_revision_method_and_target_in_headers() -> None:
    def mirror(tool: str, params: bytes) -> dict[str, str]:
        return {"Mcp-Param-Region": f"{len(tool)} {json.loads(params)['arguments']['region']}"}

    async with opened(session_server, mirror=mirror) as (peer, channel):
        await channel.send(stateless(1, "tools/list"))
        await channel.send(stateless(2, "tools/call", name="grüß", arguments={"region": "eu"}))
        await channel.send(stateless(3, "resources/read", uri="file:///a b"))
    listing, call, reading = (exchange.headers for exchange in peer.asked)
    assert (listing["mcp-protocol-version"], listing["mcp-method"]) == ("2026-07-28", "tools/list")
    assert "mcp-name" not in listing
    assert call["mcp-name"] == "=?base64?Z3LDvMOf?="
    assert call["mcp-param-region"] == "4 eu"
    assert (reading["mcp-method"], reading["mcp-name"]) == ("resources/read", "file:///a b")


@pytest.mark.parametrize("number", [1, 2])
async def test_withdrawing_a_stateless_request_closes_its_stream_and_says_nothing_else(number: int) -> None:
    closed = asyncio.Event()

    async def handler(exchange: Exchange) -> None:
        await exchange.begin_events()
        await exchange.frame({"jsonrpc": "2.0", "method": "notifications/progress"}, "e-1")
        await exchange.client_gone()
        closed.set()

    async with opened(handler) as (peer, channel):
        await channel.send(stateless(number, "tools/call", name="slow"))
        await heard(channel)
        await channel.send(encode_notification("notifications/cancelled", b'{"requestId":%d}' % number))
        await closed.wait()
    assert [exchange.verb for exchange in peer.asked] == ["POST"]


async def test_withdrawing_a_request_of_a_session_tells_the_server() -> None:
    withdrawn = asyncio.Event()

    async def handler(exchange: Exchange) -> None:
        if exchange.verb != "POST" or exchange.message["method"] != "tools/call":
            if exchange.verb == "POST" and exchange.message["method"] == "notifications/cancelled":
                withdrawn.set()
            await session_server(exchange)
            return
        await exchange.begin_events()
        await exchange.client_gone()

    async with opened(handler) as (_, channel):
        await initialize(channel)
        await channel.send(encode_request(2, "tools/call"))
        await channel.send(encode_notification("notifications/cancelled", b'{"requestId":2}'))
        await withdrawn.wait()


async def test_a_cancelled_sender_hangs_up() -> None:
    arrived, closed = asyncio.Event(), asyncio.Event()

    async def handler(exchange: Exchange) -> None:
        arrived.set()
        await exchange.client_gone()
        closed.set()

    async with opened(handler) as (_, channel), asyncio.TaskGroup() as group:
        sending = group.create_task(channel.send(stateless(1, "tools/call", name="slow")))
        await arrived.wait()
        sending.cancel()
        await closed.wait()


async def test_closing_the_channel_releases_those_who_wait_for_the_server() -> None:
    arrived = asyncio.Event()

    async def handler(exchange: Exchange) -> None:
        arrived.set()
        await exchange.client_gone()

    async with opened(handler) as (_, channel), asyncio.TaskGroup() as group:
        sending = group.create_task(expect_closed(channel))
        await arrived.wait()
        await channel.aclose()
        await sending


async def expect_closed(channel: Channel) -> None:
    with pytest.raises(ChannelClosed):
        await channel.send(encode_request(1, "tools/call"))


async def test_an_error_in_the_block_leaves_it_as_it_is() -> None:
    with pytest.raises(Denied):
        await fail_inside()


async def fail_inside() -> None:
    async with opened(session_server) as (_, channel):
        await initialize(channel)
        raise Denied("mine", rule="r")


@pytest.mark.parametrize("value", ["naïve", "two\r\nlines"])
async def test_a_header_that_http_cannot_carry_is_a_mistake_in_the_settings(value: str) -> None:
    with pytest.raises(ConfigInvalid):
        async with open_http("http://localhost/", HttpOptions({"x-team": value}, 1000)):
            pass


def modern_tools(*tools: dict[str, Any]) -> Handler:
    """A stateless server with these tools, which wants their annotated arguments in headers."""

    async def handler(exchange: Exchange) -> None:
        message = exchange.message
        if message["method"] == "server/discover":
            await exchange.result({"supportedVersions": ["2026-07-28"]})
        elif message["method"] == "tools/list":
            await exchange.result({"tools": tools})
        elif "mcp-param-region" not in exchange.headers:
            error = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32020, "message": "Mcp-Param-Region"}}
            await exchange.json(error, 400)
        else:
            await exchange.result({"region": exchange.headers["mcp-param-region"]})

    return handler


def a_tool(name: str, **region: object) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", "properties": {"region": region}}}


async def test_a_call_refused_for_its_headers_is_made_again_once_the_tools_are_known() -> None:
    tool = a_tool("query", **{"type": "string", "x-mcp-header": "Region"})
    async with (
        opened(modern_tools(tool)) as (peer, channel),
        open_client(channel, ClientProfile("tester", "1")) as client,
    ):
        assert json.loads(await client.call_tool("query", b'{"region":"eu"}')) == {"region": "eu"}
    methods = [exchange.headers["mcp-method"] for exchange in peer.asked]
    assert methods == ["server/discover", "tools/call", "tools/list", "tools/call"]


async def test_a_tool_with_invalid_header_annotations_is_not_offered() -> None:
    tools = a_tool("good", type="string"), a_tool("bad", **{"type": "number", "x-mcp-header": "Region"})
    async with (
        opened(modern_tools(*tools)) as (_, channel),
        open_client(channel, ClientProfile("tester", "1")) as client,
    ):
        assert [json.loads(tool)["name"] for tool in await client.list_tools()] == ["good"]


@pytest.mark.parametrize("status", [400, 404, 405])
async def test_a_server_that_refuses_the_probe_by_status_alone_is_greeted_the_older_way(status: int) -> None:
    async def handler(exchange: Exchange) -> None:
        if exchange.verb == "POST" and exchange.message["method"] == "server/discover":
            await exchange.answer(status)
        elif exchange.verb == "POST" and exchange.message["method"] == "initialize":
            await exchange.result({"protocolVersion": "2025-11-25", "capabilities": {}}, Mcp_Session_Id="s-1")
        else:
            await session_server(exchange)

    async with (
        opened(handler) as (peer, channel),
        open_client(channel, ClientProfile("tester", "1")) as client,
    ):
        assert client.agreement.version == "2025-11-25"
        await client.request("ping")
    assert peer.of("POST")[-1].headers["mcp-protocol-version"] == "2025-11-25"
