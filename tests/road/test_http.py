"""The HTTP door for whoever knocks, in either revision: what is refused, and with which status."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from limen import __version__
from limen.calls.call import Caller
from limen.errors import AuthRequired
from limen.protocol.frames import FrameLimits
from limen.protocol.versions import META_VERSION
from limen.server.http import HttpLimits
from tests.house import House, a_house
from tests.requirements import requirement
from tests.road.doors import MEDIA, SESSION, STATELESS, Client, HttpWire, Hub, envelope, hello, open_hub
from tests.road.workshop import Workshop

pytestmark = pytest.mark.anyio

SMALL = FrameLimits(frame_bytes=4096, string_bytes=512, depth=20)


@pytest.fixture
async def small(workshop: Workshop) -> AsyncGenerator[Hub, None]:
    """A hub with little patience."""
    house = a_house(providers={"w": workshop.toolset}, limits=SMALL)
    async with open_hub(house, HttpLimits(body_bytes=4096)) as opened:
        yield opened


def modern(method: str, **params: Any) -> dict[str, Any]:
    """A stateless request."""
    return {"jsonrpc": "2.0", "id": "m", "method": method, "params": params | {"_meta": envelope()}}


def headers_of(method: str, name: str | None = None, **changes: str | None) -> dict[str, str]:
    """The headers a stateless client sends, with changes; None leaves one out."""
    given: dict[str, str | None] = dict(MEDIA) | {
        "mcp-protocol-version": STATELESS,
        "mcp-method": method,
        "mcp-name": name,
    }
    given |= {key.replace("_", "-"): value for key, value in changes.items()}
    return {key: value for key, value in given.items() if value is not None}


async def post(hub: Hub, body: bytes | dict[str, Any], headers: dict[str, str] | None = None) -> tuple[int, Any]:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    response = await hub.client.post("/mcp", content=content, headers=MEDIA if headers is None else headers)
    return response.status_code, response.json() if response.content else None


async def still_serves(hub: Hub) -> bool:
    """Whether the next good request of each revision is answered."""
    status, answer = await post(hub, modern("tools/list"), headers_of("tools/list"))
    opened, welcome = await post(hub, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello()})
    return (status, "result" in answer, opened, "result" in welcome) == (200, True, 200, True)


@requirement("http.health")
async def test_health_is_told_to_everybody(hub: Hub) -> None:
    response = await hub.client.get("/healthz")
    assert (response.status_code, response.json()["status"], response.json()["version"]) == (200, "ok", __version__)


@pytest.mark.parametrize("path", ["/", "/mcp/", "/MCP", "/mcp/x", "/v1/brains", "/healthz/x", "/favicon.ico", "//mcp"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_an_unknown_path_is_404(hub: Hub, method: str, path: str) -> None:
    response = await hub.client.request(
        method, hub.url + path, headers=MEDIA, content=b"{}" if method == "POST" else b""
    )
    assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")


@requirement("http.method-not-allowed")
@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "HEAD", "TRACE"])
async def test_a_verb_the_endpoint_does_not_know_is_405_and_names_those_it_does(hub: Hub, method: str) -> None:
    response = await hub.client.request(method, "/mcp", headers=MEDIA)
    assert response.status_code == 405
    assert {verb.strip() for verb in response.headers["allow"].split(",")} == {"GET", "POST", "DELETE"}


@requirement("http.method-not-allowed")
async def test_a_stateless_client_has_no_stream_of_its_own(hub: Hub) -> None:
    response = await hub.client.get("/mcp", headers=headers_of("x"))
    assert (response.status_code, response.headers["allow"]) == (405, "POST")


@requirement("http.media-types")
@pytest.mark.parametrize(
    "content_type", [None, "", "text/plain", "application/jsonp", "multipart/form-data", "json", "application/json-rpc"]
)
async def test_a_post_that_brings_no_json_is_415(hub: Hub, content_type: str | None) -> None:
    headers = {"accept": MEDIA["accept"]} | ({} if content_type is None else {"content-type": content_type})
    response = await hub.client.post("/mcp", content=b"{}", headers=headers)
    assert response.status_code == 415


@requirement("http.media-types")
@pytest.mark.parametrize(
    "content_type", ["application/json; charset=utf-8", "Application/JSON", "application/json;x=1"]
)
async def test_json_is_json_however_it_is_written(hub: Hub, content_type: str) -> None:
    status, _ = await post(hub, modern("tools/list"), headers_of("tools/list", content_type=content_type))
    assert status == 200


@requirement("http.media-types")
@pytest.mark.parametrize("accept", ["application/json", "text/event-stream", "text/html", ""])
async def test_a_client_that_cannot_take_both_json_and_events_is_406(hub: Hub, accept: str) -> None:
    response = await hub.client.post("/mcp", content=b"{}", headers=MEDIA | {"accept": accept})
    assert response.status_code == 406


@requirement("http.media-types")
@pytest.mark.parametrize("accept", ["*/*", "application/*, text/*", "text/event-stream;q=0.5, application/json"])
async def test_a_client_that_takes_anything_takes_both(hub: Hub, accept: str) -> None:
    status, _ = await post(hub, modern("tools/list"), headers_of("tools/list", accept=accept))
    assert status == 200


@requirement("http.media-types")
@pytest.mark.parametrize("accept", ["application/json", "", "text/html"])
async def test_a_stream_is_given_only_to_those_who_can_take_one(hub: Hub, house: House, accept: str) -> None:
    wire = HttpWire(hub)
    await Client(wire, SESSION, "http", house).result("initialize", hello())
    response = await hub.client.get("/mcp", headers=wire.headers | {"accept": accept})
    assert response.status_code == 406


@requirement("http.bad-json", "wire.bad-json")
@pytest.mark.parametrize(
    "body", [b"", b"{", b"nonsense", b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', b'{"a":"\\ud800"}']
)
@pytest.mark.parametrize("revision", [SESSION, STATELESS])
async def test_a_body_that_is_not_json_is_400_with_a_json_rpc_error(hub: Hub, body: bytes, revision: str) -> None:
    status, answer = await post(hub, body, MEDIA | {"mcp-protocol-version": revision})
    assert (status, answer["error"]["code"], answer["jsonrpc"]) == (400, -32700, "2.0")
    assert await still_serves(hub)


@requirement("wire.bad-envelope", "wire.batch-refused")
@pytest.mark.parametrize(
    ("body", "message_id"),
    [
        (b"[]", None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None),
        (b'{"jsonrpc":"1.0","id":"q","method":"ping"}', "q"),
        (b'{"jsonrpc":"2.0","id":"q","method":"ping","params":[]}', "q"),
        (b'{"jsonrpc":"2.0","id":"q"}', "q"),
        (b"7", None),
    ],
)
@pytest.mark.parametrize("revision", [SESSION, STATELESS])
async def test_json_that_is_no_message_is_400(hub: Hub, body: bytes, message_id: str | None, revision: str) -> None:
    status, answer = await post(hub, body, MEDIA | {"mcp-protocol-version": revision})
    assert (status, answer["error"]["code"], answer["id"]) == (400, -32600, message_id)
    assert await still_serves(hub)


@requirement("http.body-limit", "wire.limit-size")
async def test_a_body_past_the_limit_is_413_and_the_next_is_served(small: Hub) -> None:
    status, answer = await post(small, b" " * 4097)
    assert (status, answer["error"]["data"]) == (413, {"code": "too_large", "limit": "body_bytes"})
    assert await still_serves(small)


@requirement("http.body-limit")
async def test_a_body_that_never_says_how_long_it_is_is_refused_once_it_is_too_long(small: Hub) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", small.port)
    lines = [f"{name}: {value}" for name, value in MEDIA.items()]
    head = ["POST /mcp HTTP/1.1", f"host: 127.0.0.1:{small.port}", "transfer-encoding: chunked", *lines, "", ""]
    writer.write("\r\n".join(head).encode() + (b"400\r\n" + b" " * 1024 + b"\r\n") * 5)
    # Its end was never sent, and is not waited for.
    status, _, answer = await read_response(reader)
    assert (status, answer["error"]["data"]["code"]) == (413, "too_large")
    writer.close()
    assert await still_serves(small)


@requirement("http.body-limit")
async def test_a_body_at_the_limit_is_read(small: Hub) -> None:
    body = json.dumps(modern("tools/list")).encode()
    status, _ = await post(small, body + b" " * (4096 - len(body)), headers_of("tools/list"))
    assert status == 200


@requirement("wire.limit-depth", "wire.limit-string")
@pytest.mark.parametrize(
    ("argument", "limit"), [("[" * 30 + "]" * 30, "depth"), (json.dumps("s" * 600), "string_bytes")]
)
async def test_nesting_and_strings_past_their_limits_are_413_and_name_the_limit(
    small: Hub, argument: str, limit: str
) -> None:
    body = json.dumps(modern("tools/call", name="echo", arguments={"text": "?"})).replace('"?"', argument).encode()
    status, answer = await post(small, body, headers_of("tools/call", "echo"))
    assert (status, answer["id"], answer["error"]["code"]) == (413, "m", -32600)
    assert answer["error"]["data"] == {"code": "too_large", "limit": limit}
    assert await still_serves(small)


@requirement("http.host-checked")
@pytest.mark.parametrize("path", ["/mcp", "/healthz", "/nothing"])
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example"])
async def test_another_host_is_421_on_every_route(hub: Hub, path: str, host: str) -> None:
    response = await hub.client.post(path, content=b"{}", headers=MEDIA | {"host": host})
    assert (response.status_code, response.json()["error"]["code"]) == (421, "denied")


@requirement("http.origin-checked")
@pytest.mark.parametrize("path", ["/mcp", "/healthz", "/nothing"])
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1", "file://"])
async def test_another_origin_is_403_on_every_route(hub: Hub, path: str, origin: str) -> None:
    response = await hub.client.post(path, content=b"{}", headers=MEDIA | {"origin": origin})
    assert (response.status_code, response.json()["error"]["code"]) == (403, "denied")


async def test_our_own_host_and_origin_are_served(hub: Hub) -> None:
    headers = headers_of("tools/list", origin=hub.url, host=f"localhost:{hub.port}")
    assert (await post(hub, modern("tools/list"), headers))[0] == 200


@requirement("stateless.headers")
@pytest.mark.parametrize(
    "changes",
    [
        {"mcp_method": None},
        {"mcp_method": "tools/list"},
        {"mcp_method": "TOOLS/CALL"},
        {"mcp_name": None},
        {"mcp_name": "wait"},
        {"mcp_name": "Echo"},
        {"mcp_name": "=?base64?d2FpdA==?="},
        {"mcp_name": "=?base64?not base64?="},
        {"mcp_protocol_version": "2025-11-25"},
        {"mcp_protocol_version": "2099-01-01"},
        {"mcp_protocol_version": None},
    ],
)
async def test_a_missing_or_contradicting_header_is_400_and_nothing_runs(
    hub: Hub, house: House, changes: dict[str, str | None]
) -> None:
    message = modern("tools/call", name="echo", arguments={"text": "a"})
    status, answer = await post(
        hub, message, headers_of("tools/call", "echo") | {} if not changes else _changed(changes)
    )
    assert (status, answer["id"], answer["error"]["code"]) == (400, "m", -32020)
    assert answer["error"]["data"]["code"] == "header_mismatch"
    assert house.trail.rows == []


def _changed(changes: dict[str, str | None]) -> dict[str, str]:
    given: dict[str, str | None] = dict(headers_of("tools/call", "echo"))
    given |= {key.replace("_", "-"): value for key, value in changes.items()}
    return {key: value for key, value in given.items() if value is not None}


@requirement("stateless.headers")
@pytest.mark.parametrize("name", ["echo", "=?base64?ZWNobw==?="])
async def test_a_name_may_be_wrapped_in_base64(hub: Hub, name: str) -> None:
    message = modern("tools/call", name="echo", arguments={"text": "a"})
    assert (await post(hub, message, headers_of("tools/call", name)))[0] == 200


@requirement("stateless.headers")
async def test_a_header_that_comes_twice_is_refused(hub: Hub) -> None:
    headers = [*headers_of("tools/list").items(), ("mcp-method", "tools/list")]
    response = await hub.client.post("/mcp", content=json.dumps(modern("tools/list")).encode(), headers=headers)
    assert (response.status_code, response.json()["error"]["code"]) == (400, -32020)


@requirement("stateless.headers")
@pytest.mark.parametrize(
    ("header", "status"),
    [("a", 200), ("=?base64?YQ==?=", 200), (None, 400), ("b", 400), ("", 400), ("=?base64?Yg==?=", 400)],
)
async def test_an_argument_that_travels_in_a_header_must_be_the_same_in_both(
    hub: Hub, house: House, header: str | None, status: int
) -> None:
    message = modern("tools/call", name="routed", arguments={"text": "a"})
    answered = await post(hub, message, headers_of("tools/call", "routed", mcp_param_text=header))
    assert answered[0] == status
    assert status == 200 or answered[1]["error"]["code"] == -32020
    assert house.trail.outcomes == (["ok"] if status == 200 else [])


@requirement("stateless.headers")
async def test_a_resource_is_named_by_its_uri(hub: Hub) -> None:
    message = modern("resources/read", uri="x://note")
    assert (await post(hub, message, headers_of("resources/read", "x://note")))[0] == 200
    assert (await post(hub, message, headers_of("resources/read", "x://other")))[0] == 400


@requirement(
    "stateless.version-refused", "wire.unknown-method", "stateless.missing-capability", "stateless.meta-required"
)
@pytest.mark.parametrize(
    ("method", "params", "status", "code"),
    [
        ("tools/list", {"_meta": envelope("2099-01-01")}, 400, -32022),
        ("no/such", {}, 404, -32601),
        ("ping", {}, 404, -32601),
        ("tools/call", {"name": "ask"}, 400, -32021),
        ("tools/call", {"name": "nothing"}, 400, -32602),
        ("resources/read", {"uri": "x://nothing"}, 400, -32602),
        ("tools/call", {"name": "crash"}, 200, -32603),
        ("tools/list", {"_meta": {META_VERSION: STATELESS}}, 400, -32602),
    ],
)
async def test_failures_travel_with_the_status_the_revision_demands(
    hub: Hub, method: str, params: dict[str, Any], status: int, code: int
) -> None:
    message = modern(method) | {"params": {"_meta": envelope()} | params}
    version = message["params"]["_meta"][META_VERSION]
    name = params.get("name") or params.get("uri")
    answered = await post(hub, message, headers_of(method, name, mcp_protocol_version=version))
    assert (answered[0], answered[1]["error"]["code"], answered[1]["id"]) == (status, code, "m")


@requirement("stateless.version-refused")
async def test_an_unserved_version_names_those_that_are_served(hub: Hub) -> None:
    message = modern("tools/list") | {"params": {"_meta": envelope("1999-12-31")}}
    _, answer = await post(hub, message, headers_of("tools/list", mcp_protocol_version="1999-12-31"))
    assert answer["error"]["data"]["supported"] == [SESSION, STATELESS]
    assert answer["error"]["data"]["requested"] == "1999-12-31"


async def test_what_a_stateless_client_may_not_send_is_refused(hub: Hub) -> None:
    headers = MEDIA | {"mcp-protocol-version": STATELESS}
    assert await post(hub, {"jsonrpc": "2.0", "id": 1, "result": {}}, headers) == (400, None)
    assert await post(hub, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}}, headers) == (
        202,
        None,
    )


@requirement("peers.side-by-side")
async def test_both_revisions_are_served_on_one_connection_one_after_the_other(hub: Hub) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", hub.port)
    session_id = ""
    for number in range(6):
        if number == 0:
            message, headers = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello()}, dict(MEDIA)
        elif number % 2:
            message, headers = modern("tools/list"), headers_of("tools/list")
        else:
            message, headers = (
                {"jsonrpc": "2.0", "id": number, "method": "tools/list"},
                MEDIA | {"mcp-session-id": session_id},
            )
        body = json.dumps(message).encode()
        lines = [f"{name}: {value}" for name, value in headers.items()]
        head = ["POST /mcp HTTP/1.1", f"host: 127.0.0.1:{hub.port}", f"content-length: {len(body)}", *lines, "", ""]
        writer.write("\r\n".join(head).encode() + body)
        status, answered, answer = await read_response(reader)
        session_id = answered.get("mcp-session-id", session_id)
        assert status == 200
        assert ("resultType" in answer["result"]) == bool(number % 2)
    writer.close()
    await writer.wait_closed()


async def read_response(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], Any]:
    """One whole response of a kept connection."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers["content-length"]))
    return int(head[0].split()[1]), headers, json.loads(body)


@requirement("peers.side-by-side", "dispatch.concurrent")
async def test_clients_of_both_revisions_are_served_at_the_same_time(
    hub: Hub, house: House, workshop: Workshop
) -> None:
    old, new = Client(HttpWire(hub), SESSION, "http", house), Client(HttpWire(hub), STATELESS, "http", house)
    await old.result("initialize", hello())
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(client.call("wait")) for client in (old, new)]
        await house.trail.reaches(2)
        for client in (new, old, new):
            assert (await client.call("echo", {"text": "a"}))["isError"] is False
        workshop.go.set()
    assert [task.result()["content"][0]["text"] for task in waiting] == ["went on", "went on"]


@requirement("stateless.close-cancels")
async def test_a_stateless_call_in_flight_when_the_hub_stops_is_cancelled_and_recorded(
    house: House, workshop: Workshop
) -> None:
    async with open_hub(house) as hub:
        reader, writer = await asyncio.open_connection("127.0.0.1", hub.port)
        body = json.dumps(modern("tools/call", name="wait", arguments={})).encode()
        lines = [f"{name}: {value}" for name, value in headers_of("tools/call", "wait").items()]
        head = ["POST /mcp HTTP/1.1", f"host: 127.0.0.1:{hub.port}", f"content-length: {len(body)}", *lines, "", ""]
        writer.write("\r\n".join(head).encode() + body)
        await workshop.started.wait()
    assert house.trail.outcomes == ["cancelled"]
    assert await reader.read() == b""
    writer.close()


@requirement("http.local-only")
async def test_a_caller_nobody_knows_is_refused_before_anything_is_served(hub: Hub) -> None:
    def refuse(scope: dict[str, Any]) -> Caller:
        raise AuthRequired("who are you?")

    hub.door.identify = refuse
    listing: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    knocks: list[tuple[str, dict[str, Any] | None, dict[str, str]]] = [
        ("POST", listing, MEDIA),
        ("POST", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello()}, MEDIA),
        ("POST", modern("tools/list"), headers_of("tools/list")),
        ("DELETE", None, MEDIA),
    ]
    for method, body, headers in knocks:
        answer = await hub.client.request(method, "/mcp", json=body, headers=headers)
        assert answer.status_code == 401
        assert answer.json()["error"]["data"]["code"] == "auth_required"
