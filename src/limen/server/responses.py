"""Plain HTTP answers over ASGI: JSON bodies, empty ones, and event streams."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from limen.calls.call import Caller
from limen.errors import LimenError
from limen.protocol.frames import RequestId
from limen.protocol.refusals import refusal
from limen.protocol.versions import SESSION_REVISION, Revision
from limen.server.events import Reader
from limen.server.line import LINE, Line

__all__ = ["Receive", "Scope", "Send", "Visit", "send_error", "send_json", "send_status", "send_stream"]

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Header = tuple[bytes, bytes]

_JSON: Final[Header] = (b"content-type", b"application/json")
_JSON_HEAD: Final = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
_STREAM: Final[list[Header]] = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


class Visit:
    """One HTTP request at the door: who brings it, and its headers, sorted once."""

    __slots__ = ("_heads", "caller", "receive", "scope", "send")

    def __init__(self, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        self.caller = caller
        self.scope = scope
        self.receive = receive
        self.send = send
        self._heads: dict[bytes, bytes] = dict(scope["headers"])

    def header(self, name: bytes) -> str | None:
        """The value of a header, the last when it was sent twice; or None."""
        found = self._heads.get(name)
        return None if found is None else found.decode("latin-1")

    def raw_header(self, name: bytes) -> bytes:
        """The value as it came, empty when there is none."""
        return self._heads.get(name, b"")

    @property
    def line(self) -> Line:
        """The connection it came on."""
        return self.scope[LINE]

    def find_body(self) -> bytes | None:
        """The whole body, if it has come; None when it must be received."""
        line: Line | None = self.scope.get(LINE)
        return None if line is None else line.take_body(self.scope)

    async def reply(self, body: bytes) -> None:
        """Answer with one JSON body."""
        line: Line | None = self.scope.get(LINE)
        if line is None or not line.respond(self.scope, _JSON_HEAD, body):
            await send_json(self.send, body)


async def send_json(send: Send, body: bytes, *, status: int = 200, extra: tuple[Header, ...] = ()) -> None:
    """One JSON body."""
    headers = [_JSON, (b"content-length", b"%d" % len(body)), *extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def send_status(send: Send, status: int, *extra: Header) -> None:
    """A status with no body."""
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0"), *extra]})
    await send({"type": "http.response.body", "body": b""})


async def send_error(
    send: Send,
    error: LimenError,
    status: int,
    *,
    message_id: RequestId | None = None,
    revision: Revision = SESSION_REVISION,
) -> None:
    """A refusal: the JSON-RPC error, under the HTTP status that goes with it."""
    await send_json(send, refusal(message_id, error, revision), status=status)


async def send_stream(send: Send, reader: Reader, *, keepalive_s: float, extra: tuple[Header, ...] = ()) -> None:
    """Events as they come, comments when it is quiet, until the reader is finished."""
    await send({"type": "http.response.start", "status": 200, "headers": [*_STREAM, *extra]})
    if reader.is_quiet:
        # The line holds the head back for a first chunk, and this one will be a while.
        await send({"type": "http.response.body", "body": b"", "more_body": True})
    while (chunk := await reader.next(keepalive_s)) is not None:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
