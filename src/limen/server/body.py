"""Reads the body of a request, whole and within its limit."""

from limen.errors import TooLarge
from limen.server.responses import Visit

__all__ = ["read_body"]


async def read_body(visit: Visit, limit: int) -> bytes | None:
    """The whole body; None when the client left before sending it all.

    Raises:
        TooLarge: it is past the limit.
    """
    declared = visit.raw_header(b"content-length")
    if declared.isdigit() and int(declared) > limit:
        raise TooLarge(f"body is {int(declared)} bytes, the limit is {limit}", limit="body_bytes")
    body = visit.find_body()
    if body is None:
        return await _receive(visit, limit)
    if len(body) > limit:
        raise _too_large(limit)
    return body


async def _receive(visit: Visit, limit: int) -> bytes | None:
    # A body may come in very many pieces: growing bytes by each would take the square of its size.
    body = bytearray()
    while True:
        message = await visit.receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > limit:
            raise _too_large(limit)
        if not message.get("more_body"):
            return bytes(body)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"body is over {limit} bytes", limit="body_bytes")
