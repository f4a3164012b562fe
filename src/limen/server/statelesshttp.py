"""Revision 2026-07-28 over HTTP: headers that must agree with the body, one exchange per request,
and a closed stream that cancels it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, Final

import msgspec

from limen.calls.call import Caller
from limen.errors import HeaderMismatch, NotFound, ProtocolError
from limen.protocol.codes import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
)
from limen.protocol.frames import Request
from limen.protocol.headers import (
    METHOD_HEADER,
    NAME_HEADER,
    VERSION_HEADER,
    HeaderParams,
    check_declared_headers,
    decode_header_value,
    header_params,
)
from limen.protocol.methods import NAMED_BY
from limen.protocol.versions import STATELESS_REVISION
from limen.server.answers import Settled
from limen.server.events import Reader
from limen.server.line import Line
from limen.server.params import Params
from limen.server.responses import Scope, Send, Visit, send_error, send_json, send_stream
from limen.server.stateless import Stateless
from limen.server.watch import Spawn, Watch
from limen.transport.eager import run_eagerly
from limen.transport.sse import encode_event

__all__ = ["StatelessPosts"]

HTTP_STATUS: Final = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CLIENT_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}
"""What the revision demands; any other error travels with 200."""

_OWS: Final = " \t"
"""White space around a header's value is not part of it, and the parser leaves what trails."""
_ROUTING: Final = {name.encode(): name for name in (VERSION_HEADER, METHOD_HEADER, NAME_HEADER)}


class _Target(Params, frozen=True, kw_only=True):
    """The parts of a request that headers repeat; their types are checked later, by the method."""

    name: Any = None
    uri: Any = None
    arguments: Any = None


_decode_target = msgspec.json.Decoder(_Target).decode


class _Stream:
    """Where one request's messages go: nowhere until there is one, then an event stream without ids."""

    def __init__(self, make_reader: Callable[[], Reader]) -> None:
        self.on_open: Callable[[], None] | None = None
        self._make_reader = make_reader
        self._reader: Reader | None = None

    @property
    def is_open(self) -> bool:
        return self._reader is not None

    async def __call__(self, frame: bytes) -> None:
        self.open().push(encode_event(frame))

    def open(self) -> Reader:
        if self._reader is None:
            self._reader = self._make_reader()
            if self.on_open is not None:
                self.on_open()
        return self._reader

    def end(self, reply: bytes | None) -> None:
        """The last message, if there is one."""
        if self._reader is not None:
            if reply is not None:
                self._reader.push(encode_event(reply))
            self._reader.finish()


class _TakenBack:
    """A cancel that is meant for one request, not for the task that happens to answer it."""

    def __init__(self, task: "asyncio.Task[Any] | None") -> None:
        self._task = task
        self._is_taken = False
        self._remove: Callable[[], None] | None = None

    def when(self, line: Line) -> None:
        """Take the request back when its connection ends."""
        self._remove = line.on_close(self.now)

    def now(self) -> None:
        """Take it back."""
        if not self._is_taken and self._task is not None:
            self._is_taken = True
            self._task.cancel()

    def is_meant(self) -> bool:
        """Whether a CancelledError was this one, and no other."""
        return self._is_taken and self._task is not None and self._task.uncancel() == 0

    def forget(self) -> None:
        """The request is over."""
        if self._remove is not None:
            self._remove()


@dataclass(frozen=True, slots=True)
class StatelessPosts:
    """Answers the POSTs of stateless clients."""

    stateless: Stateless
    spawn: Spawn
    keepalive_s: float
    send_queue: int
    _listeners: set[Callable[[], None]] = field(default_factory=set[Callable[[], None]])

    def stop(self) -> None:
        """End every listener; nothing else here is endless."""
        for end in tuple(self._listeners):
            end()

    async def answer(self, visit: Visit, request: Request) -> None:
        """Answer one request, as JSON when that is all there is, as a stream when there is more."""
        try:
            self._check_headers(visit.scope, request, visit.caller)
        except ProtocolError as error:
            await send_error(visit.send, error, 400, message_id=request.id, revision=STATELESS_REVISION)
            return
        stream = _Stream(lambda: Reader(self.send_queue, visit.line.abort))
        watch = Watch(stream, self.spawn, partial(self._write, visit.send), self.keepalive_s)
        try:
            settled = await self._settle(visit, request, stream, watch)
        except BaseException:
            watch.drop()
            raise
        stream.end(None if settled is None else settled.frame)
        if not await watch.finish() and settled is not None:
            await send_json(visit.send, settled.frame, status=HTTP_STATUS.get(settled.code, 200))

    async def _settle(self, visit: Visit, request: Request, stream: _Stream, watch: Watch) -> Settled | None:
        """The answer; None when the client took its request back, which in this revision it does by hanging up."""
        taken_back = _TakenBack(asyncio.current_task())

        def wait() -> None:
            taken_back.when(visit.line)
            watch.begin()

        if request.method == "subscriptions/listen":
            self._listeners.add(taken_back.now)
        try:
            return await run_eagerly(self.stateless.settle(request, visit.caller, stream), wait)
        except asyncio.CancelledError:
            if not taken_back.is_meant():
                raise
            return None
        finally:
            taken_back.forget()
            self._listeners.discard(taken_back.now)

    async def _write(self, send: Send, reader: Reader) -> None:
        await send_stream(send, reader, keepalive_s=self.keepalive_s)

    def _check_headers(self, scope: Scope, request: Request, caller: Caller) -> None:
        """Refuse a request whose headers tell a proxy something else than its body tells us."""
        given = _routing_headers(scope)
        try:
            target = _decode_target(request.params)
        except msgspec.DecodeError:
            return
        if target.meta.version is None:
            return
        _expect(given, VERSION_HEADER, target.meta.version)
        _expect(given, METHOD_HEADER, request.method)
        field = NAMED_BY.get(request.method)
        if field is None:
            return
        name = getattr(target, field)
        if not isinstance(name, str):
            return
        _expect(given, NAME_HEADER, name)
        if request.method == "tools/call":
            self._check_param_headers(scope, name, target.arguments, caller)

    def _check_param_headers(self, scope: Scope, name: str, arguments: Any, caller: Caller) -> None:
        try:
            _, capability = self.stateless.surface.pipeline.find("tool", name, caller)
        except NotFound:
            return
        declared = _declared(capability.definition)
        if declared:
            pairs = [(key.decode("latin-1"), value.decode("latin-1").strip(_OWS)) for key, value in scope["headers"]]
            check_declared_headers(declared, arguments, pairs)


def _routing_headers(scope: Scope) -> dict[str, str]:
    given: dict[str, str] = {}
    for key, value in scope["headers"]:
        name = _ROUTING.get(key)
        if name is not None:
            if name in given:
                raise HeaderMismatch(f"{name} was sent twice", field=name)
            given[name] = value.decode("latin-1").strip(_OWS)
    return given


def _expect(given: dict[str, str], name: str, wanted: object) -> None:
    value = given.get(name)
    if value is None:
        raise HeaderMismatch(f"{name} is missing", field=name)
    if decode_header_value(value) != wanted:
        raise HeaderMismatch(f"{name} does not agree with the body", field=name)


@lru_cache(maxsize=4096)
def _declared(definition: bytes) -> HeaderParams:
    if b"x-mcp-header" not in definition:
        return {}
    schema = msgspec.json.decode(definition).get("inputSchema")
    try:
        return header_params(schema)
    except ProtocolError:
        # Clients drop a tool with broken annotations, so nobody sends headers for it.
        return {}
