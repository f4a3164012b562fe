"""JSON-RPC frames: bytes to typed messages and back, with every limit checked before anything is built.

Only the envelope is decoded. `params`, `result` and `error.data` stay the bytes that arrived, so that
what merely passes through is neither validated twice nor re-encoded. Refuses batches.
"""

import re
from typing import Final

import msgspec
import orjson
from msgspec import UNSET, Raw, UnsetType

from limen.errors import ParseFailed, ProtocolError, TooLarge

__all__ = [
    "DEFAULT_LIMITS",
    "ErrorReply",
    "Frame",
    "FrameLimits",
    "Notification",
    "Reply",
    "Request",
    "RequestId",
    "encode_error",
    "encode_notification",
    "encode_reply",
    "encode_request",
    "find_id",
    "parse",
]

RequestId = int | str

EMPTY_PARAMS: Final = b"{}"


class FrameLimits(msgspec.Struct, frozen=True):
    """The most one frame may be."""

    frame_bytes: int = 4 * 1024 * 1024
    string_bytes: int = 2 * 1024 * 1024
    depth: int = 100


DEFAULT_LIMITS: Final = FrameLimits()


class Request(msgspec.Struct, frozen=True, gc=False):
    """Something asked, to be answered under its id."""

    id: RequestId
    method: str
    params: bytes
    about: RequestId | None = None
    """The request of ours that it came with, where the transport can tell."""


class Notification(msgspec.Struct, frozen=True, gc=False):
    """Something told; nobody answers."""

    method: str
    params: bytes
    about: RequestId | None = None
    """The request of ours that it came with, where the transport can tell."""


class Reply(msgspec.Struct, frozen=True, gc=False):
    """The result of the request with this id."""

    id: RequestId
    result: bytes


class ErrorReply(msgspec.Struct, frozen=True, gc=False):
    """The failure of the request with this id; no id when the request could not be read."""

    id: RequestId | None
    code: int
    message: str
    data: bytes | None


Frame = Request | Notification | Reply | ErrorReply


class _Error(msgspec.Struct):
    code: int
    message: str
    data: Raw | UnsetType = UNSET


class _Envelope(msgspec.Struct):
    jsonrpc: str
    id: RequestId | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: _Error | UnsetType = UNSET


class _JustId(msgspec.Struct):
    id: RequestId | None = None


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_id = msgspec.json.Decoder(_JustId).decode
_encode = msgspec.json.encode

# Possessive, and an unterminated string reaches to the end: hostile input cannot make it look twice at a byte.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)


def parse(data: bytes, limits: FrameLimits = DEFAULT_LIMITS) -> Frame:
    """Read one frame.

    Raises:
        ParseFailed: the bytes are not JSON.
        TooLarge: a limit is exceeded.
        ProtocolError: JSON, but not one JSON-RPC message.
    """
    _check_limits(data, limits)
    if not data.isascii():
        _check_utf8(data)
    try:
        envelope = _decode_envelope(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _explain(data, error) from None
    return _frame(envelope)


def _frame(envelope: _Envelope) -> Frame:
    if envelope.jsonrpc != "2.0":
        raise ProtocolError('"jsonrpc" must be "2.0"', field="jsonrpc")
    message_id, method = envelope.id, envelope.method
    if method is not UNSET:
        if envelope.result is not UNSET or envelope.error is not UNSET:
            raise ProtocolError('a message has either "method" or a result, not both', field="method")
        raw = envelope.params
        params = EMPTY_PARAMS if raw is UNSET else bytes(raw)
        if params[:1] != b"{":
            raise ProtocolError('"params" must be an object', field="params")
        if message_id is UNSET:
            return Notification(method, params)
        if message_id is None:
            raise ProtocolError('"id" must be a string or an integer', field="id")
        return Request(message_id, method, params)
    return _answer(envelope, None if message_id is UNSET else message_id)


def _answer(envelope: _Envelope, message_id: RequestId | None) -> Reply | ErrorReply:
    result, error = envelope.result, envelope.error
    if (result is UNSET) == (error is UNSET):
        raise ProtocolError('a message needs "method", or one of "result" and "error"', field="method")
    if error is not UNSET:
        data = None if error.data is UNSET else bytes(error.data)
        return ErrorReply(message_id, error.code, error.message, data)
    if message_id is None or result is UNSET:
        raise ProtocolError('a result needs the "id" of its request', field="id")
    return Reply(message_id, bytes(result))


def _check_limits(data: bytes, limits: FrameLimits) -> None:
    size = len(data)
    if size > limits.frame_bytes:
        raise TooLarge(f"message is {size} bytes, the limit is {limits.frame_bytes}", limit="frame_bytes")
    # Counting brackets is a cheap upper bound on depth; only suspicious frames are measured exactly.
    if data.count(b"{") + data.count(b"[") > limits.depth and _is_deeper(data, limits.depth):
        raise TooLarge(f"message is nested deeper than {limits.depth} levels", limit="depth")
    if size > limits.string_bytes and any(
        match.end() - match.start() - 2 > limits.string_bytes for match in _STRING.finditer(data)
    ):
        raise TooLarge(f"a string is longer than {limits.string_bytes} bytes", limit="string_bytes")


_OPENERS: Final = frozenset(b"{[")
_NOT_BRACKETS: Final = bytes(set(range(256)) - set(b"{}[]"))


def _is_deeper(data: bytes, most: int) -> bool:
    depth = 0
    for byte in _STRING.sub(b"", data).translate(None, _NOT_BRACKETS):
        depth += 1 if byte in _OPENERS else -1
        if depth > most:
            return True
    return False


def _check_utf8(data: bytes) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise ParseFailed(f"not UTF-8 at byte {error.start}") from None


def _explain(data: bytes, error: Exception) -> ProtocolError:
    """Tell broken JSON from JSON that is no message, in words for whoever sent it."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as bad:
        return ParseFailed(f"not JSON: {bad}")
    if isinstance(value, list):
        return ProtocolError("batches are not part of MCP; send one message at a time", field="")
    if not isinstance(value, dict):
        return ProtocolError("a message must be a JSON object", field="")
    return ProtocolError(f"not a JSON-RPC 2.0 message: {error}", field="")


def find_id(data: bytes) -> RequestId | None:
    """The id of a message that could not be parsed, when it can still be told; for error replies."""
    try:
        return _decode_id(data).id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _id_bytes(message_id: RequestId | None) -> bytes:
    # A small int is the common id, and this is the hot path.
    return b"%d" % message_id if type(message_id) is int else _encode(message_id)


def encode_request(message_id: RequestId, method: str, params: bytes = EMPTY_PARAMS) -> bytes:
    """One request as bytes, without a line end."""
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (_id_bytes(message_id), _encode(method), params)


def encode_notification(method: str, params: bytes = EMPTY_PARAMS) -> bytes:
    """One notification as bytes, without a line end."""
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (_encode(method), params)


def encode_reply(message_id: RequestId, result: bytes) -> bytes:
    """One result as bytes, without a line end."""
    if type(message_id) is int:
        # The common id, and the hot path.
        return b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (message_id, result)
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (_id_bytes(message_id), result)


def encode_error(message_id: RequestId | None, code: int, message: str, data: bytes | None = None) -> bytes:
    """One error as bytes, without a line end."""
    tail = b"" if data is None else b',"data":' + data
    return b'{"jsonrpc":"2.0","id":%b,"error":{"code":%d,"message":%b%b}}' % (
        _id_bytes(message_id),
        code,
        _encode(message),
        tail,
    )
