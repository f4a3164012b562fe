"""Turns an HTTP answer that is no success into the error it means. Decides nothing about retrying."""

from collections.abc import Mapping

from limen.errors import (
    AuthRequired,
    Denied,
    LimenError,
    Overloaded,
    ProtocolError,
    SessionNotFound,
    Unreachable,
    UpstreamError,
)
from limen.protocol.frames import ErrorReply, RequestId, encode_error, parse
from limen.redact import redact_text

__all__ = ["answered_error", "failure"]

_EXCERPT_CHARS = 300


def answered_error(body: bytes, request_id: RequestId | None) -> bytes | None:
    """The JSON-RPC error in an HTTP error body, under the id of the request that it answers; None without one.

    Servers that refuse before they read the message leave the id out, yet the HTTP exchange says whose it is.
    """
    try:
        frame = parse(body)
    except ProtocolError:
        return None
    if not isinstance(frame, ErrorReply):
        return None
    return encode_error(request_id, frame.code, frame.message, frame.data)


def failure(status: int, headers: Mapping[str, str], body: bytes, *, has_session: bool) -> LimenError:
    """The error for a status that is no success."""
    challenge = headers.get("www-authenticate", "")
    if status == 401 or (status == 403 and challenge):
        return AuthRequired("the server wants to know who is calling", status=status, www_authenticate=challenge)
    if status == 403:
        return Denied("the server refuses this client", status=status, rule="http_403")
    if status == 404 and has_session:
        return SessionNotFound("the server no longer knows this session; initialize again", status=status)
    if status == 429:
        return Overloaded("the server is asking for fewer requests", retry_after=headers.get("retry-after", ""))
    text = redact_text(body.decode(errors="replace")[:_EXCERPT_CHARS])
    if status in (404, 405, 410):
        return Unreachable(f"no MCP endpoint at this address: HTTP {status}", status=status, body=text)
    if 300 <= status < 400:
        where = headers.get("location", "")
        return Unreachable(f"the server has moved: HTTP {status}; set the new URL", status=status, location=where)
    if status >= 500:
        return Unreachable(f"the server failed: HTTP {status}", status=status, body=text)
    return UpstreamError(f"the server refused the message: HTTP {status}", status=status, body=text)
