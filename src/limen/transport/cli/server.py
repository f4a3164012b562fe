"""The MCP side of a command-line program: both revisions, tools only. Every other method is refused by name."""

import logging
from typing import Any, Final, TypeVar

import msgspec

from limen import __version__
from limen.errors import (
    InvalidArguments,
    LimenError,
    MethodNotFound,
    NotInitialized,
    RequestCancelled,
    UnsupportedVersion,
)
from limen.protocol.frames import Notification, Request, encode_reply
from limen.protocol.methods import CACHEABLE
from limen.protocol.refusals import refusal
from limen.protocol.versions import (
    META_SERVER_INFO,
    META_VERSION,
    SERVED,
    SESSION_REVISION,
    STATELESS_REVISION,
    Revision,
)
from limen.transport.cli.program import Program
from limen.transport.dispatcher import Outlet

__all__ = ["CliService"]

log = logging.getLogger(__name__)

PAGE_TOOLS: Final = 200


class _Meta(msgspec.Struct, rename={"version": META_VERSION}):
    version: str | None = None


class _Params(msgspec.Struct, rename={"meta": "_meta"}):
    meta: _Meta = msgspec.field(default_factory=_Meta)


class _Initialize(msgspec.Struct, rename="camel"):
    protocol_version: str


class _List(msgspec.Struct):
    cursor: str | None = None


class _Call(msgspec.Struct):
    name: str
    arguments: dict[str, Any] = {}


P = TypeVar("P", bound=msgspec.Struct)

_decode_params = msgspec.json.Decoder(_Params)
_decode_initialize = msgspec.json.Decoder(_Initialize)
_decode_list = msgspec.json.Decoder(_List)
_decode_call = msgspec.json.Decoder(_Call)


class CliService:
    """Answers for one program."""

    def __init__(self, program: Program, name: str, page_bytes: int) -> None:
        self._program = program
        self._info = {"name": f"cli-{name}", "version": __version__}
        self._page_bytes = page_bytes
        self._is_initialized = False

    async def answer(self, request: Request, outlet: Outlet) -> bytes | None:
        """The whole reply to one request."""
        del outlet
        revision: Revision = STATELESS_REVISION if _is_stateless(request) else SESSION_REVISION
        try:
            result = await self._result(request, revision)
        except LimenError as error:
            return refusal(request.id, error, revision)
        except Exception:
            log.exception("request failed", extra={"method": request.method})
            return refusal(request.id, LimenError("internal error; the hub's log has the details"), revision)
        return encode_reply(request.id, msgspec.json.encode(result))

    def withdrawn(self, request: Request) -> bytes | None:
        """A cancelled request is answered in a session, and passed over in silence without one."""
        if _is_stateless(request):
            return None
        return refusal(request.id, RequestCancelled("cancelled by the client"))

    def hear(self, notification: Notification) -> None:
        """Nothing that is told changes anything here."""
        log.debug("notification not used", extra={"method": notification.method})

    async def _result(self, request: Request, revision: Revision) -> dict[str, Any]:
        if revision == STATELESS_REVISION:
            return self._complete(await self._stateless(request), is_cacheable=request.method in CACHEABLE)
        match request.method:
            case "initialize":
                return self._initialize(_read(_decode_initialize, request.params))
            case "ping":
                return {}
            case _ if not self._is_initialized:
                raise NotInitialized(f"send initialize before {request.method}", method=request.method)
            case _:
                return await self._about_tools(request, revision)

    async def _stateless(self, request: Request) -> dict[str, Any]:
        version = _read(_decode_params, request.params).meta.version
        if version != STATELESS_REVISION:
            raise _unsupported(version)
        if request.method == "server/discover":
            return {"supportedVersions": list(SERVED), "capabilities": {"tools": {}}}
        return await self._about_tools(request, STATELESS_REVISION)

    async def _about_tools(self, request: Request, revision: Revision) -> dict[str, Any]:
        match request.method:
            case "tools/list":
                return await self._list(_read(_decode_list, request.params).cursor)
            case "tools/call":
                call = _read(_decode_call, request.params)
                return await self._program.call(call.name, call.arguments)
            case unknown:
                raise MethodNotFound(f"no method {unknown!r} in {revision}", method=unknown)

    def _initialize(self, params: _Initialize) -> dict[str, Any]:
        if params.protocol_version != SESSION_REVISION:
            raise _unsupported(params.protocol_version)
        self._is_initialized = True
        return {"protocolVersion": SESSION_REVISION, "capabilities": {"tools": {}}, "serverInfo": self._info}

    def _complete(self, result: dict[str, Any], *, is_cacheable: bool) -> dict[str, Any]:
        hints = {"ttlMs": 0, "cacheScope": "private"} if is_cacheable else {}
        meta = {META_SERVER_INFO: self._info, **result.get("_meta", {})}
        return {"resultType": "complete", **hints, **result, "_meta": meta}

    async def _list(self, cursor: str | None) -> dict[str, Any]:
        """One page of tools; a cursor is the place in the list, which never changes."""
        tools = [tool.definition for tool in (await self._program.tools()).values()]
        start = 0 if cursor is None else int(cursor) if cursor.isdecimal() and len(cursor) < 7 else -1
        if not 0 <= start <= len(tools):
            raise InvalidArguments("cursor: not one that this list gave out", field="cursor")
        page: list[msgspec.Raw] = []
        size = 0
        for tool in tools[start : start + PAGE_TOOLS]:
            encoded = msgspec.json.encode(tool)
            size += len(encoded)
            if page and size > self._page_bytes:
                break
            page.append(msgspec.Raw(encoded))
        end = start + len(page)
        return {"tools": page, **({"nextCursor": str(end)} if end < len(tools) else {})}


def _is_stateless(request: Request) -> bool:
    if request.method == "server/discover":
        return True
    try:
        return _decode_params.decode(request.params).meta.version is not None
    except msgspec.DecodeError:
        return False


def _unsupported(version: object) -> UnsupportedVersion:
    return UnsupportedVersion(
        f"protocol version {version!r} is not served; supported: {', '.join(SERVED)}",
        supported=list(SERVED),
        requested=version,
    )


def _read(decoder: "msgspec.json.Decoder[P]", params: bytes) -> P:
    try:
        return decoder.decode(params)
    except msgspec.DecodeError as error:
        raise InvalidArguments(f"params: {error}", field="params") from None
