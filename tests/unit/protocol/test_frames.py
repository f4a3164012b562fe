"""Frames: what is read is what was written, what is wrong is told by its code, and nothing hostile takes long."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from limen.errors import LimenError, ParseFailed, ProtocolError, TooLarge, face_of
from limen.protocol.frames import (
    ErrorReply,
    FrameLimits,
    Notification,
    Reply,
    Request,
    encode_error,
    encode_notification,
    encode_reply,
    encode_request,
    find_id,
    parse,
)
from tests.requirements import requirement
from tests.unit.protocol.json_strategies import depth_of, ids, objects, texts, values

SMALL = FrameLimits(frame_bytes=2_000, string_bytes=100, depth=5)


def dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def refused(data: bytes, limits: FrameLimits = SMALL) -> LimenError:
    with pytest.raises(ProtocolError) as caught:
        parse(data, limits)
    return caught.value


def outcome(data: bytes, limits: FrameLimits) -> str:
    try:
        parse(data, limits)
    except ProtocolError as error:
        return error.code
    return "read"


@requirement("wire.round-trip")
@given(ids, texts, objects)
def test_a_request_reads_back_as_it_was_written(message_id: int | str, method: str, params: dict[str, Any]) -> None:
    raw = dumped(params)
    assert parse(encode_request(message_id, method, raw)) == Request(message_id, method, raw)


@requirement("wire.round-trip")
@given(texts, objects)
def test_a_notification_reads_back_as_it_was_written(method: str, params: dict[str, Any]) -> None:
    raw = dumped(params)
    assert parse(encode_notification(method, raw)) == Notification(method, raw)


@requirement("wire.round-trip")
@given(ids, values)
def test_a_reply_reads_back_as_it_was_written(message_id: int | str, result: Any) -> None:
    raw = dumped(result)
    assert parse(encode_reply(message_id, raw)) == Reply(message_id, raw)


@requirement("wire.round-trip")
@given(st.none() | ids, st.integers(-(2**40), 2**40), texts, st.none() | values.map(dumped))
def test_an_error_reads_back_as_it_was_written(
    message_id: int | str | None, code: int, message: str, data: bytes | None
) -> None:
    assert parse(encode_error(message_id, code, message, data)) == ErrorReply(message_id, code, message, data)


@given(st.binary(max_size=200))
@example(b"")
@example(b"\xef\xbb\xbf{}")
@example(b'{"jsonrpc":"2.0","id":1,"method":"x"} x')
def test_no_bytes_whatever_raise_anything_but_a_typed_refusal(data: bytes) -> None:
    assert outcome(data, SMALL) in {"read", "parse_error", "invalid_request", "too_large"}
    find_id(data)


@given(objects)
def test_no_object_whatever_raises_anything_but_a_typed_refusal(message: dict[str, Any]) -> None:
    parts = {"jsonrpc": "2.0", "id": 1, "method": "x"} | message
    assert outcome(dumped(parts), FrameLimits()) in {"read", "invalid_request"}


@requirement("wire.bad-json")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"not json",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"',
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":01}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\x"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\n"}}',
        b"\xef\xbb\xbf" + encode_request(1, "ping"),
        encode_request(1, "ping").decode().encode("utf-16"),
    ],
)
def test_bytes_that_are_not_json_are_a_parse_error(data: bytes) -> None:
    error = refused(data)
    assert isinstance(error, ParseFailed)
    assert (error.code, face_of(error).rpc) == ("parse_error", -32700)


@requirement("wire.bad-json")
@pytest.mark.parametrize("where", ["id", "method", "params", "unknown"])
@pytest.mark.parametrize("byte", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf"])
def test_bytes_that_are_not_utf8_are_a_parse_error_wherever_they_stand(where: str, byte: bytes) -> None:
    slots = {"id": b"i", "method": b"m", "params": b"p", "unknown": b"u"} | {where: byte}
    data = b'{"jsonrpc":"2.0","id":"%b","method":"%b","params":{"a":"%b"},"x":"%b"}' % tuple(slots.values())
    assert refused(data).code == "parse_error"


@requirement("wire.bad-json")
@pytest.mark.parametrize("escape", [b"\\ud800", b"\\udc00", b"\\ud800\\u0041", b"\\udc00\\ud800"])
@pytest.mark.parametrize(
    "shape", [b'"id":"%b","method":"m"', b'"id":1,"method":"%b"', b'"method":"m","params":{"%b":1}']
)
def test_half_of_a_surrogate_pair_is_a_parse_error(shape: bytes, escape: bytes) -> None:
    assert refused(b'{"jsonrpc":"2.0",' + shape % escape + b"}").code == "parse_error"


@requirement("wire.bad-envelope")
@pytest.mark.parametrize(
    "message",
    [
        pytest.param(None, id="null"),
        pytest.param(7, id="number"),
        pytest.param("ping", id="string"),
        pytest.param({}, id="empty"),
        pytest.param({"id": 1, "method": "ping"}, id="no version"),
        pytest.param({"jsonrpc": "1.0", "id": 1, "method": "ping"}, id="old version"),
        pytest.param({"jsonrpc": 2.0, "id": 1, "method": "ping"}, id="version as number"),
        pytest.param({"jsonrpc": "2.0"}, id="nothing asked or answered"),
        pytest.param({"jsonrpc": "2.0", "id": 1}, id="only an id"),
        pytest.param({"jsonrpc": "2.0", "id": None, "method": "ping"}, id="null id"),
        pytest.param({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, id="fraction id"),
        pytest.param({"jsonrpc": "2.0", "id": 1.0, "method": "ping"}, id="float id"),
        pytest.param({"jsonrpc": "2.0", "id": True, "method": "ping"}, id="boolean id"),
        pytest.param({"jsonrpc": "2.0", "id": [1], "method": "ping"}, id="array id"),
        pytest.param({"jsonrpc": "2.0", "id": {}, "method": "ping"}, id="object id"),
        pytest.param({"jsonrpc": "2.0", "id": 1, "method": 7}, id="method as number"),
        pytest.param({"jsonrpc": "2.0", "id": 1, "method": None}, id="null method"),
        pytest.param({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}, id="params as array"),
        pytest.param({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": None}, id="null params"),
        pytest.param({"jsonrpc": "2.0", "method": "ping", "params": "x"}, id="params as string"),
        pytest.param({"jsonrpc": "2.0", "id": 1, "method": "ping", "result": {}}, id="asks and answers"),
        pytest.param(
            {"jsonrpc": "2.0", "id": 1, "method": "p", "error": {"code": 1, "message": ""}}, id="asks and fails"
        ),
        pytest.param({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": ""}}, id="both answers"),
        pytest.param({"jsonrpc": "2.0", "result": {}}, id="result without id"),
        pytest.param({"jsonrpc": "2.0", "id": None, "result": {}}, id="result with null id"),
        pytest.param({"jsonrpc": "2.0", "id": 1, "error": None}, id="null error"),
        pytest.param({"jsonrpc": "2.0", "id": 1, "error": "no"}, id="error as text"),
        pytest.param({"jsonrpc": "2.0", "id": 1, "error": {"message": "no"}}, id="error without code"),
        pytest.param({"jsonrpc": "2.0", "id": 1, "error": {"code": "x", "message": "no"}}, id="error code as text"),
        pytest.param({"jsonrpc": "2.0", "id": 1, "error": {"code": 1}}, id="error without message"),
    ],
)
def test_json_that_is_no_message_is_an_invalid_request(message: Any) -> None:
    error = refused(dumped(message))
    assert (error.code, face_of(error).rpc) == ("invalid_request", -32600)


@requirement("wire.batch-refused")
@pytest.mark.parametrize("batch", [b"[]", b"[%b]" % encode_request(1, "ping"), b"[[[]]]", b"[1,2]"])
def test_a_batch_is_refused_and_the_refusal_says_so(batch: bytes) -> None:
    error = refused(batch)
    assert error.code == "invalid_request"
    assert "batch" in str(error)


@requirement("wire.raw-passthrough")
@pytest.mark.parametrize(
    "params",
    [
        b'{ "b" : 1.0 , "a" : 1e2 }',
        b'{"n":123456789012345678901234567890,"m":0.1000000000000000055511151231257827}',
        b'{"same":1,"same":2}',
        b'{"\\u0061":"\\u00e9\\/\\ud83d\\ude00"}',
        b'{"deep":[[{"a":[{}]}]],"unknown":null}',
        b'{"n":1e400,"digits":%b}' % (b"9" * 5000),
    ],
)
def test_params_keep_the_bytes_they_came_with(params: bytes) -> None:
    frame = parse(b'{"jsonrpc":"2.0","id":1,"method":"x","params":%b}' % params)
    assert isinstance(frame, Request)
    assert frame.params == params


@requirement("wire.raw-passthrough")
def test_results_and_error_data_keep_the_bytes_they_came_with() -> None:
    raw = b'{ "n": 12345678901234567890123, "n": 1.0 }'
    assert parse(b'{"jsonrpc":"2.0","id":1,"result":%b}' % raw) == Reply(1, raw)
    failed = parse(b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m","data":%b,"more":1}}' % raw)
    assert failed == ErrorReply(1, -1, "m", raw)


def test_fields_that_nobody_knows_are_ignored() -> None:
    assert parse(b'{"x":[1],"jsonrpc":"2.0","id":1,"method":"ping","_extra":{}}') == Request(1, "ping", b"{}")


@pytest.mark.parametrize("message_id", [0, -1, 2**63, 2**64, -(2**64), 10**30, "", "1", "é", "\u0000", "a" * 90])
def test_every_integer_and_every_string_is_an_id(message_id: int | str) -> None:
    assert parse(encode_request(message_id, "ping")) == Request(message_id, "ping", b"{}")


def test_a_number_and_a_string_are_different_ids() -> None:
    assert parse(encode_request(1, "ping")) != parse(encode_request("1", "ping"))


@requirement("wire.limit-size")
def test_a_frame_at_its_limit_is_read_and_one_byte_more_is_refused() -> None:
    frame = encode_request(1, "ping", b'{"a":[%b]}' % b",".join([b"10"] * 300))
    assert isinstance(parse(frame, FrameLimits(frame_bytes=len(frame))), Request)
    error = refused(frame, FrameLimits(frame_bytes=len(frame) - 1))
    assert (error.code, error.facts["limit"], face_of(error).rpc) == ("too_large", "frame_bytes", -32600)


@requirement("wire.limit-string")
@pytest.mark.parametrize("shape", [b'{"a":"%b"}', b'{"%b":1}', b'{"a":["x","%b"]}'])
def test_a_string_past_its_limit_is_refused_wherever_it_stands(shape: bytes) -> None:
    assert isinstance(parse(encode_request(1, "ping", shape % (b"s" * 100)), SMALL), Request)
    error = refused(encode_request(1, "ping", shape % (b"s" * 101)))
    assert isinstance(error, TooLarge)
    assert (error.facts["limit"], "100" in str(error)) == ("string_bytes", True)


@requirement("wire.limit-depth")
@pytest.mark.parametrize("levels", [4, 5, 6, 300])
def test_nesting_past_its_limit_is_refused(levels: int) -> None:
    params = b'{"a":' * (levels - 1) + b"1" + b"}" * (levels - 1)
    if levels <= SMALL.depth:
        assert isinstance(parse(encode_request(1, "x", params), SMALL), Request)
    else:
        error = refused(encode_request(1, "x", params))
        assert (error.code, error.facts["limit"]) == ("too_large", "depth")


@requirement("wire.limit-depth")
@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"a":'])
def test_nesting_far_past_every_recursion_limit_is_refused(opening: bytes) -> None:
    assert refused(opening * 100_000, FrameLimits()).code == "too_large"


@requirement("wire.limit-depth")
@given(objects, st.integers(1, 8))
@example({"a": "[[[[[[[["}, 2)
@example({'a\\"[[[[': '\\"{{{{'}, 2)
@example({"a": [[], [], [], [], []]}, 3)
def test_the_limit_on_depth_agrees_with_counting_levels_one_by_one(params: dict[str, Any], depth: int) -> None:
    message = {"jsonrpc": "2.0", "method": "x", "params": params}
    limits = FrameLimits(depth=depth)
    if depth_of(message) <= depth:
        assert isinstance(parse(dumped(message), limits), Notification)
    else:
        assert refused(dumped(message), limits).code == "too_large"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"[" * 101 + b'"' + b'\\"' * 500_000, id="escaped quotes without an end"),
        pytest.param(b"[" * 101 + b'"' * 1_000_001, id="quotes"),
        pytest.param(b"[" * 101 + b"\\" * 1_000_000, id="backslashes"),
        pytest.param(b'"' + b"\\" * 3_000_001, id="a long string of backslashes"),
        pytest.param(b"[]" * 500_000, id="brackets"),
        pytest.param(b"[" * 1_000_000, id="open brackets"),
    ],
)
def test_hostile_bytes_are_refused_in_one_pass(data: bytes) -> None:
    # No clock is looked at: what is quadratic here runs into the suite's own time-out.
    assert refused(data, FrameLimits()).code in {"parse_error", "too_large"}


@given(ids)
def test_the_id_of_a_broken_message_is_found_when_it_can_be(message_id: int | str) -> None:
    assert find_id(dumped({"id": message_id, "jsonrpc": "1.0", "method": 3})) == message_id


@pytest.mark.parametrize(
    "data", [b"", b"[1]", b'{"id":', b'{"id":1.5}', b'{"id":true}', b'{"id":null}', b"{}", b"[" * 9999]
)
def test_no_id_is_made_up_where_there_is_none(data: bytes) -> None:
    assert find_id(data) is None
