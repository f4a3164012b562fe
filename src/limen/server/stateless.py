"""Revision 2026-07-28: every request brings its own envelope, and nothing is remembered between two of them."""

from typing import Any, Final

import msgspec
import orjson
from msgspec.structs import replace

from limen.calls.call import Caller, InputRequired
from limen.errors import InvalidArguments, MethodNotFound, Overloaded, UnsupportedVersion
from limen.protocol.frames import Request
from limen.protocol.methods import CACHEABLE
from limen.protocol.versions import (
    META_CLIENT_CAPABILITIES,
    META_SERVER_INFO,
    META_VERSION,
    STATELESS_REVISION,
)
from limen.server.answers import Settled, settle
from limen.server.exchange import StatelessExchange
from limen.server.listening import listen
from limen.server.methods import METHODS, Turn
from limen.server.params import CallParams, ListenParams, Meta, Params, RetryParams, read_params
from limen.server.surface import Surface
from limen.shapes import is_object
from limen.transport.dispatcher import Outlet

__all__ = ["Stateless", "is_stateless"]

LISTEN_QUEUE: Final = 256
_MARK: Final = META_VERSION.encode()


class _Mark(msgspec.Struct, rename={"version": META_VERSION}):
    version: Any = None


class _Bearer(msgspec.Struct, rename={"meta": "_meta"}):
    """Only what tells the revision: a request that is wrong otherwise is refused by its own revision."""

    meta: _Mark = msgspec.field(default_factory=_Mark)


_decode_bearer = msgspec.json.Decoder(_Bearer).decode
_decode_any = msgspec.json.Decoder(Params)
_decode_listen = msgspec.json.Decoder(ListenParams)


def is_stateless(request: Request) -> bool:
    """Whether the request carries the envelope of the stateless revision."""
    # The substring is a cheap first look; most requests of a session never mention it.
    if request.method in ("server/discover", "subscriptions/listen"):
        return True
    if _MARK not in request.params:
        return False
    try:
        return _decode_bearer(request.params).meta.version is not None
    except msgspec.DecodeError:
        return False


class Stateless:
    """Answers requests of the stateless revision."""

    def __init__(self, surface: Surface) -> None:
        self.surface = surface
        self._complete = b'{"resultType":"complete","_meta":{"%b":%b}' % (META_SERVER_INFO.encode(), surface.info_json)

    async def answer(self, request: Request, caller: Caller, outlet: Outlet) -> bytes:
        """The reply to one request."""
        return (await self.settle(request, caller, outlet)).frame

    async def settle(self, request: Request, caller: Caller, outlet: Outlet) -> Settled:
        """The reply to one request, and what became of it."""
        return await settle(self._result(request, caller, outlet), request, STATELESS_REVISION)

    async def _result(self, request: Request, caller: Caller, outlet: Outlet) -> bytes:
        method = METHODS.get(request.method)
        if method is None:
            return await self._own_method(request, caller, outlet)
        params = method.read(request)
        turn = self._turn(request, params, caller, outlet)
        try:
            result = (await method.handle(turn, params)).payload
        except InputRequired as pause:
            return self._ask(pause, _binding(request, params, turn.caller))
        return self._shape(result, is_cacheable=request.method in CACHEABLE)

    def _turn(self, request: Request, params: Params, caller: Caller, outlet: Outlet) -> Turn:
        meta = params.meta
        self.check_envelope(meta)
        caller = _named(caller, meta)
        answers, state = self._answers(request, params, caller)
        exchange = StatelessExchange(
            meta.client_capabilities, outlet, meta.progress_token, meta.log_level, answers, state
        )
        return Turn(self.surface.pipeline, request, caller, exchange)

    async def _own_method(self, request: Request, caller: Caller, outlet: Outlet) -> bytes:
        match request.method:
            case "server/discover":
                self.check_envelope(read_params(_decode_any, request.params).meta)
                return self._shape(self._discovery(), is_cacheable=True)
            case "subscriptions/listen":
                params = read_params(_decode_listen, request.params)
                turn = self._turn(request, params, caller, outlet)
                await listen(turn, params.notifications, self.surface.changes, outlet)
                raise Overloaded("this listener reads too slowly; listen again and list anew")
            case unknown:
                self.check_envelope(read_params(_decode_any, request.params).meta)
                raise MethodNotFound(f"no method {unknown!r} in {STATELESS_REVISION}", method=unknown)

    def check_envelope(self, meta: Meta) -> None:
        """Refuse a request that does not carry what this revision requires.

        Raises:
            InvalidArguments: a required key is missing or malformed.
            UnsupportedVersion: the revision named is not served.
        """
        missing = [
            key
            for key, value in ((META_VERSION, meta.version), (META_CLIENT_CAPABILITIES, meta.client_capabilities))
            if value is None
        ]
        if missing:
            raise InvalidArguments(f"params._meta: {' and '.join(missing)} missing", field="_meta")
        if not isinstance(meta.version, str):
            raise InvalidArguments(f"params._meta: {META_VERSION} must be a string", field="_meta")
        if meta.version not in self.surface.versions or meta.version != STATELESS_REVISION:
            raise UnsupportedVersion(
                f"protocol version {meta.version!r} is not served; supported: {', '.join(self.surface.versions)}",
                supported=list(self.surface.versions),
                requested=meta.version,
            )
        if not is_object(meta.client_capabilities):
            raise InvalidArguments(f"params._meta: {META_CLIENT_CAPABILITIES} must be an object", field="_meta")

    def _answers(self, request: Request, params: Params, caller: Caller) -> tuple[dict[str, Any], str]:
        if not isinstance(params, RetryParams):
            return {}, ""
        earlier, state = {}, ""
        if params.request_state is not None:
            earlier, state = self.surface.seal.open(params.request_state, *_binding(request, params, caller))
        return earlier | (params.input_responses or {}), state

    def _ask(self, pause: InputRequired, binding: tuple[str, ...]) -> bytes:
        requests = {key: {"method": q.method, "params": q.params} for key, q in pause.questions.items()}
        return msgspec.json.encode(
            {
                "resultType": "input_required",
                "inputRequests": requests,
                "requestState": self.surface.seal.close(dict(pause.answered), *binding, state=pause.state),
                "_meta": {META_SERVER_INFO: self.surface.info},
            }
        )

    def _shape(self, result: bytes, *, is_cacheable: bool) -> bytes:
        """Add what this revision wants on every result, without reading the rest of it."""
        if b'"resultType"' in result or b'"_meta"' in result:
            return self._merge(result, is_cacheable=is_cacheable)
        hints = b',"ttlMs":0,"cacheScope":"private"' if is_cacheable else b""
        rest = result[1:].lstrip()
        return self._complete + hints + (rest if rest[:1] == b"}" else b"," + rest)

    def _merge(self, result: bytes, *, is_cacheable: bool) -> bytes:
        fields: dict[str, Any] = msgspec.json.decode(result, type=dict[str, msgspec.Raw])
        meta = msgspec.json.decode(fields.get("_meta", b"{}"), type=dict[str, Any])
        fields["_meta"] = {META_SERVER_INFO: self.surface.info} | meta
        fields.setdefault("resultType", "complete")
        if is_cacheable:
            fields = {"ttlMs": 0, "cacheScope": "private"} | fields
        return msgspec.json.encode(fields)

    def _discovery(self) -> bytes:
        return msgspec.json.encode(
            {
                "supportedVersions": list(self.surface.versions),
                "capabilities": self.surface.capabilities,
                "instructions": self.surface.instructions,
            }
        )


def _named(caller: Caller, meta: Meta) -> Caller:
    info = meta.client_info
    if not is_object(info):
        return caller
    return replace(caller, client=f"{info.get('name', '')}/{info.get('version', '')}")


def _binding(request: Request, params: Params, caller: Caller) -> tuple[str, ...]:
    """What a sealed state is good for: this principal, this method, this target, these arguments."""
    if isinstance(params, CallParams):
        return (caller.subject, request.method, params.name, _canonical(bytes(params.arguments)))
    return (caller.subject, request.method, getattr(params, "uri", ""))


def _canonical(arguments: bytes) -> str:
    """The same text for the same arguments, whatever the order of their keys."""
    try:
        return orjson.dumps(orjson.loads(arguments), option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONDecodeError:
        # JSON, but with a number no double can hold; such arguments must come back byte for byte.
        return arguments.decode()
