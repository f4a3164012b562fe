"""What an upstream gets is what the caller sent, without what was only meant for the hub."""

import json

from limen.calls.call import Call, Caller, Subject
from limen.gateway.outgoing import outgoing
from limen.ids import new_call_id
from tests.house import SilentExchange
from tests.requirements import requirement


def call_with(params: dict[str, object]) -> Call:
    raw = json.dumps(params).encode()
    arguments = json.dumps(params.get("arguments", {})).encode()
    return Call(new_call_id(), "tools/call", "tool", "up__do", arguments, Caller(Subject("me")), SilentExchange(), raw)


@requirement("gateway.fields-survive")
def test_fields_that_the_hub_does_not_know_survive() -> None:
    call = call_with({"name": "up__do", "arguments": {}, "new": {"ttl": 5}, "_meta": {"com.example/trace": "x"}})
    sent = json.loads(outgoing(call, {"name": "do", "arguments": {}}, {}))
    assert sent == {"name": "do", "arguments": {}, "new": {"ttl": 5}, "_meta": {"com.example/trace": "x"}}


@requirement("gateway.fields-survive")
def test_what_the_caller_said_about_itself_is_not_passed_on() -> None:
    meta = {
        "progressToken": 7,
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "secretive"},
        "io.modelcontextprotocol/clientCapabilities": {},
        "traceparent": "00-1-2-01",
    }
    call = call_with({"name": "up__do", "arguments": {}, "_meta": meta, "requestState": "sealed by us"})
    sent = json.loads(outgoing(call, {"name": "do"}, {"ours": 1}))
    assert sent == {"name": "do", "_meta": {"ours": 1, "traceparent": "00-1-2-01"}}
