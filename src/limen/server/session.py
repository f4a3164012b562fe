"""One client's session in revision 2025-11-25, whatever carries it: from `initialize` to its end."""

import logging
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from limen.calls.call import Caller
from limen.calls.changes import Change, ListChanged, ResourceUpdated
from limen.errors import (
    InvalidArguments,
    MethodNotFound,
    NotInitialized,
    ProtocolError,
    RequestCancelled,
    UnsupportedVersion,
)
from limen.protocol.frames import Notification, Request, encode_notification, encode_reply
from limen.protocol.methods import LOG_LEVELS
from limen.protocol.refusals import refusal
from limen.protocol.versions import SESSION_REVISION
from limen.server.answers import Settled, refuse, settle
from limen.server.exchange import SessionExchange, passes_level
from limen.server.methods import METHODS, SUBSCRIBE, Turn
from limen.server.params import InitializeParams, LogLevelParams, Params, read_params
from limen.server.surface import Surface
from limen.transport.dispatcher import Dispatcher, Outlet

__all__ = ["LIST_CHANGED", "Session"]

log = logging.getLogger(__name__)

DEFAULT_LOG_LEVEL: Final = "info"

LIST_CHANGED: Final = {
    "tool": "notifications/tools/list_changed",
    "prompt": "notifications/prompts/list_changed",
    "resource": "notifications/resources/list_changed",
    "template": "notifications/resources/list_changed",
}

_decode_initialize = msgspec.json.Decoder(InitializeParams)
_decode_level = msgspec.json.Decoder(LogLevelParams)


class Session:
    """Answers one client.

    Its door owns the dispatcher, and gives a `tell` that takes frames which belong to no request and never blocks.
    """

    def __init__(self, surface: Surface, caller: Caller, dispatcher: Dispatcher, tell: Callable[[bytes], None]) -> None:
        self.surface = surface
        self.caller = caller
        self.is_initialized = False
        self.announces = False
        """Whether readiness and level changes are told as log messages: over HTTP, where a stream waits for them."""
        self._dispatcher = dispatcher
        self._tell = tell
        self._capabilities: dict[str, Any] = {}
        self._log_level = DEFAULT_LOG_LEVEL
        self._subscriptions: dict[str, Callable[[], None]] = {}
        """Resources the client wants to hear of, and how to stop that."""
        self._stop_listening: Callable[[], None] | None = None

    async def answer(self, request: Request, outlet: Outlet) -> bytes:
        """The reply to one request."""
        try:
            method = METHODS.get(request.method)
            if method is None:
                return encode_reply(request.id, await self._own_method(request, outlet))
            if not self.is_initialized:
                self._require_initialized(request.method)
            params = method.read(request)
            result = await method.handle(self._turn(request, params, outlet), params)
            return encode_reply(request.id, result.payload)
        except Exception as error:  # noqa: BLE001 - the dispatcher's last line
            return refuse(error, request, SESSION_REVISION).frame

    async def open(self, request: Request, outlet: Outlet) -> Settled:
        """The reply to the request that begins the session, and whether it did."""
        return await settle(self._own_method(request, outlet), request, SESSION_REVISION)

    async def _own_method(self, request: Request, outlet: Outlet) -> bytes:
        match request.method:
            case "ping":
                return b"{}"
            case "initialize":
                return self._initialize(read_params(_decode_initialize, request.params))
            case "logging/setLevel":
                self._require_initialized(request.method)
                return self._set_level(read_params(_decode_level, request.params).level)
            case "resources/subscribe" | "resources/unsubscribe":
                self._require_initialized(request.method)
                return await self._subscribe(request, outlet)
            case unknown:
                raise MethodNotFound(f"no method {unknown!r} in {SESSION_REVISION}", method=unknown)

    def _turn(self, request: Request, params: Params, outlet: Outlet) -> Turn:
        exchange = SessionExchange(
            self._capabilities,
            outlet,
            params.meta.progress_token,
            self._log_level,
            self._dispatcher,
            self.surface.ask_timeout_s,
        )
        return Turn(self.surface.pipeline, request, self.caller, exchange)

    def _require_initialized(self, method: str) -> None:
        if not self.is_initialized:
            raise NotInitialized(f"send initialize before {method}", method=method)

    def _initialize(self, params: InitializeParams) -> bytes:
        if self.is_initialized:
            raise ProtocolError("this session is already initialized")
        supported = self.surface.versions
        if params.protocol_version not in supported or params.protocol_version != SESSION_REVISION:
            # 2026-07-28 is served as well, but it has no initialize: asking for it here is asking in vain.
            offered = [version for version in supported if version == SESSION_REVISION]
            raise UnsupportedVersion(
                f"protocol version {params.protocol_version!r} is not served by initialize; "
                f"supported: {', '.join(offered) or 'none'}",
                supported=offered,
                requested=params.protocol_version,
            )
        self.is_initialized = True
        self._capabilities = params.capabilities
        self.caller = replace(self.caller, client=f"{params.client_info.name}/{params.client_info.version}")
        self._stop_listening = self.surface.changes.listen(self._on_change)
        return msgspec.json.encode(
            {
                "protocolVersion": SESSION_REVISION,
                "capabilities": self.surface.capabilities,
                "serverInfo": self.surface.info,
                "instructions": self.surface.instructions,
            }
        )

    def _set_level(self, level: str) -> bytes:
        if level not in LOG_LEVELS:
            raise InvalidArguments(f"level: expected one of {', '.join(LOG_LEVELS)}, not {level!r}", field="level")
        self._log_level = level
        self._announce(level, f"log level is now {level}")
        return b"{}"

    async def _subscribe(self, request: Request, outlet: Outlet) -> bytes:
        params = SUBSCRIBE.read(request)
        # It counts as followed while this is under way, whatever becomes of it.
        release = self.surface.changes.follow(params.uri)
        try:
            result = await SUBSCRIBE.handle(self._turn(request, params, outlet), params)
            before = self._subscriptions.pop(params.uri, _nothing)
            if request.method == "resources/subscribe" and self._stop_listening is not None:
                self._subscriptions[params.uri], release = release, before
            else:
                before()
        finally:
            release()
        return result.payload

    def withdrawn(self, request: Request) -> bytes | None:
        """A cancelled request is answered, so that nobody waits for it."""
        return refusal(request.id, RequestCancelled("cancelled by the client"), SESSION_REVISION)

    def hear(self, notification: Notification) -> None:
        """Take note of what the client tells."""
        if notification.method == "notifications/initialized" and self.is_initialized:
            self._announce("info", "session ready")
        else:
            log.debug("notification not used", extra={"method": notification.method})

    def _announce(self, level: str, text: str) -> None:
        if self.announces and passes_level(level, self._log_level):
            params = msgspec.json.encode({"level": level, "logger": "limen", "data": text})
            self._tell(encode_notification("notifications/message", params))

    def _on_change(self, change: Change) -> None:
        match change:
            case ListChanged(kind=kind):
                self._tell(encode_notification(LIST_CHANGED[kind]))
            case ResourceUpdated(uri=uri):
                if uri in self._subscriptions:
                    self._tell(
                        encode_notification("notifications/resources/updated", msgspec.json.encode({"uri": uri}))
                    )

    def close(self) -> None:
        """Stop hearing changes."""
        if self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None
        while self._subscriptions:
            self._subscriptions.popitem()[1]()


def _nothing() -> None:
    """There was nothing to stop."""
