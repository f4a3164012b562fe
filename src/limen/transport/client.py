"""A client of one MCP server, over any channel, in either revision. Results stay raw; nothing is validated twice.

It answers what the server asks through its host, follows `input_required` round trips, reads lists to
their last page and repeats annotated arguments in headers. It does not reconnect and keeps no cache.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol

import msgspec
from msgspec import UNSET

from limen.errors import LimenError, MethodNotFound, ProtocolError, RemoteError, UpstreamError
from limen.protocol import codes
from limen.protocol.frames import (
    DEFAULT_LIMITS,
    EMPTY_PARAMS,
    FrameLimits,
    Notification,
    Request,
    RequestId,
    encode_reply,
)
from limen.protocol.headers import HeaderParams, header_params, param_headers
from limen.protocol.refusals import refusal
from limen.protocol.versions import SERVED, Revision
from limen.transport.channel import Channel
from limen.transport.dispatcher import Dispatcher, Outlet, ProgressHandler
from limen.transport.handshake import Agreement, ClientProfile, agree, with_envelope
from limen.transport.http import HttpChannel
from limen.transport.rounds import Round, read_round

__all__ = ["ClientHost", "McpClient", "SilentHost", "open_client"]

log = logging.getLogger(__name__)

MOST_ROUNDS: Final = 10
"""How often one call may come back with `input_required`."""
MOST_PAGES: Final = 1000
MOST_ITEMS: Final = 100_000
TIMEOUT_S: Final = 60.0
PROBE_TIMEOUT_S: Final = 10.0
"""How long `server/discover` may stay unanswered before the server counts as an older one."""


class ClientHost(Protocol):
    """What a server may ask of its client, and tell it."""

    async def answer(self, method: str, params: bytes, context: object) -> bytes:
        """The raw result of `sampling/createMessage`, `elicitation/create` or `roots/list`.

        `context` is that of the request at which the server asks this, None when that cannot be told.

        Raises:
            LimenError: passed on to the server as an error.
        """
        ...

    def hear(self, notification: Notification, context: object) -> None:
        """Take note; must not block. The context is as for `answer`."""
        ...


class SilentHost:
    """Can be asked nothing and forgets what it is told."""

    async def answer(self, method: str, params: bytes, context: object) -> bytes:
        """Refuse."""
        raise MethodNotFound(f"this client does not answer {method}", method=method)

    def hear(self, notification: Notification, context: object) -> None:
        """Forget."""


@asynccontextmanager
async def open_client(  # noqa: PLR0913 - each has a default that fits most
    channel: Channel,
    profile: ClientProfile,
    host: ClientHost | None = None,
    *,
    revisions: Sequence[Revision] = SERVED,
    timeout_s: float = TIMEOUT_S,
    limits: FrameLimits = DEFAULT_LIMITS,
    on_junk: Callable[[bytes, ProtocolError], None] | None = None,
) -> AsyncGenerator["McpClient"]:
    """Shake hands over a fresh channel; reading it is the client's until the end, closing it is the caller's.

    Raises:
        UnsupportedVersion: there is no revision both sides allow.
        LimenError: the channel or the server failed.
    """
    body_error: BaseException | None = None
    service = _Service(host or SilentHost())
    dispatcher = service.dispatcher = Dispatcher(service, channel.send, limits, on_junk=on_junk)
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(dispatcher.serve(channel))
        try:
            client = McpClient(channel, dispatcher, profile, service.host, timeout_s)
            client.watch(reading)
            await client.shake_hands(revisions)
            yield client
        except BaseException as error:  # noqa: BLE001 - raised again outside the group, which would wrap it
            body_error = error
        finally:
            reading.cancel()
    if body_error is not None:
        raise body_error


class _Service:
    """Turns what the server asks into questions to the host."""

    def __init__(self, host: ClientHost) -> None:
        self.host = host
        self.dispatcher: Dispatcher | None = None

    async def answer(self, request: Request, outlet: Outlet) -> bytes | None:
        try:
            if request.method == "ping":
                return encode_reply(request.id, EMPTY_PARAMS)
            context = self._context(request.about)
            return encode_reply(request.id, await self.host.answer(request.method, request.params, context))
        except LimenError as error:
            return refusal(request.id, error)

    def withdrawn(self, request: Request) -> bytes | None:
        return None

    def hear(self, notification: Notification) -> None:
        self.host.hear(notification, self._context(notification.about))

    def _context(self, about: RequestId | None) -> object:
        """Whose request the server speaks about: the one it says, else the only one there is."""
        if self.dispatcher is None:
            return None
        if about is not None:
            return self.dispatcher.context_of(about)
        open_ones = self.dispatcher.contexts()
        return open_ones[0] if len(open_ones) == 1 else None


class _Named(msgspec.Struct, rename="camel"):
    name: str
    input_schema: Any = None


class _Page(msgspec.Struct, rename="camel"):
    next_cursor: str | None = None


_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class McpClient:
    """One conversation with one server."""

    def __init__(
        self, channel: Channel, dispatcher: Dispatcher, profile: ClientProfile, host: ClientHost, timeout_s: float
    ) -> None:
        self.agreement = Agreement("", EMPTY_PARAMS)
        """What was settled in the handshake: the revision, and the server's own words."""
        self._http = channel if isinstance(channel, HttpChannel) else None
        self._dispatcher = dispatcher
        self._profile = profile
        self._host = host
        self._timeout_s = timeout_s
        self._reading: asyncio.Task[None] | None = None
        self._header_params: dict[str, HeaderParams] = {}

    async def closed(self) -> None:
        """Wait until nothing more can come from the server."""
        if self._reading is not None:
            await asyncio.wait([self._reading])

    @property
    def is_over(self) -> bool:
        """Whether the server can answer nothing any more."""
        return self._dispatcher.is_over

    def watch(self, reading: "asyncio.Task[None]") -> None:
        """Know the task that reads the channel; done by `open_client`."""
        self._reading = reading

    async def shake_hands(self, revisions: Sequence[Revision]) -> None:
        """Settle on a revision; done by `open_client`."""
        self.agreement = await agree(self._ask_greeting, self._profile, revisions)
        if self._http is not None:
            self._http.protocol_version = self.agreement.version
            self._http.mirror = self._mirror
        if not self.agreement.is_stateless:
            await self._dispatcher.notify("notifications/initialized")

    async def _ask_greeting(self, method: str, params: bytes) -> bytes:
        patience_s = min(PROBE_TIMEOUT_S, self._timeout_s) if method == "server/discover" else self._timeout_s
        return await self._dispatcher.request(method, params, timeout_s=patience_s)

    async def request(
        self,
        method: str,
        params: bytes = EMPTY_PARAMS,
        *,
        timeout_s: float | None = None,
        on_progress: ProgressHandler | None = None,
        context: object = None,
    ) -> bytes:
        """Ask for anything; the raw result, once the server has what it needs to give one.

        Raises:
            RemoteError: the server answered with an error.
            RequestTimeout: it did not answer in time.
            ChannelClosed: it is gone.
            UpstreamError: it keeps asking.
        """
        first = params
        for _ in range(MOST_ROUNDS):
            full = with_envelope(params, self._profile.envelope()) if self.agreement.is_stateless else params
            result = await self.request_once(
                method, full, timeout_s=timeout_s, on_progress=on_progress, context=context
            )
            turn = read_round(method, result)
            if turn is None:
                return result
            params = await self._answered(first, turn, context)
        raise UpstreamError(f"{method} wanted input {MOST_ROUNDS} times over", method=method)

    async def request_once(
        self,
        method: str,
        params: bytes,
        *,
        timeout_s: float | None = None,
        on_progress: ProgressHandler | None = None,
        context: object = None,
    ) -> bytes:
        """Ask exactly this, envelope included, and take whatever comes, `input_required` too.

        Raises:
            RemoteError: the server answered with an error.
            RequestTimeout: it did not answer in time.
            ChannelClosed: it is gone.
            UpstreamError: what it answered is no result.
        """
        deadline_s = self._timeout_s if timeout_s is None else timeout_s
        result = await self._dispatcher.request(
            method, params, timeout_s=deadline_s, on_progress=on_progress, context=context
        )
        if result[:1] != b"{":
            raise UpstreamError(f"the result of {method} is no object", method=method)
        return result

    async def _answered(self, params: bytes, turn: Round, context: object) -> bytes:
        """The original params with what the server asked for, and its state exactly as it came."""
        fields = _decode_fields(params)
        if turn.input_requests is not None:
            answers = {
                key: msgspec.Raw(await self._host.answer(question.method, bytes(question.params), context))
                for key, question in turn.input_requests.items()
            }
            fields["inputResponses"] = msgspec.Raw(msgspec.json.encode(answers))
        if turn.request_state is not UNSET:
            fields["requestState"] = turn.request_state
        return msgspec.json.encode(fields)

    def extend(self, context: object, timeout_s: float | None = None) -> None:
        """Let the requests of a context wait so long from now on; without a time, as long as they might at first."""
        self._dispatcher.extend(context, timeout_s)

    def fail(self, message_id: RequestId, error: LimenError) -> None:
        """Let a request that waits have an error instead of its answer, which cannot be used."""
        self._dispatcher.fail(message_id, error)

    def fail_lone(self, error: LimenError) -> bool:
        """The same where the answer does not tell whose it was, when only one request waits; whether one did."""
        return self._dispatcher.fail_lone(error)

    async def notify(self, method: str, params: bytes = EMPTY_PARAMS) -> None:
        """Tell the server something."""
        await self._dispatcher.notify(method, params)

    async def list_all(self, method: str, field: str) -> list[bytes]:
        """Every item of a list, over all its pages, each as the server wrote it."""
        items: list[bytes] = []
        cursor: str | None = None
        seen: set[str] = set()
        while len(seen) < MOST_PAGES and len(items) <= MOST_ITEMS:
            params = EMPTY_PARAMS if cursor is None else msgspec.json.encode({"cursor": cursor})
            page = await self.request(method, params)
            try:
                found = msgspec.json.decode(_decode_fields(page)[field], type=list[msgspec.Raw])
                cursor = msgspec.json.decode(page, type=_Page).next_cursor
            except (msgspec.DecodeError, KeyError) as error:
                raise UpstreamError(f"the answer to {method} has no list {field!r}", method=method) from error
            items += map(bytes, found)
            if not cursor:
                return items
            if cursor in seen:
                raise UpstreamError(f"the pages of {method} lead back to one that was read already", method=method)
            seen.add(cursor)
        raise UpstreamError(f"{method} has more than {MOST_PAGES} pages or {MOST_ITEMS} items", method=method)

    async def list_tools(self) -> list[bytes]:
        """Every tool that may be offered; over HTTP those with invalid header annotations may not."""
        tools = await self.list_all("tools/list", "tools")
        if self._http is None or not self.agreement.is_stateless:
            return tools
        return [tool for tool in tools if self._is_offered(tool)]

    def _is_offered(self, tool: bytes) -> bool:
        try:
            named = msgspec.json.decode(tool, type=_Named)
        except msgspec.DecodeError as error:
            log.warning("tool without a name ignored", extra={"reason": str(error)})
            return False
        try:
            self._header_params[named.name] = header_params(named.input_schema)
        except ProtocolError as error:
            log.warning(
                "tool with invalid header annotations ignored", extra={"tool": named.name, "reason": str(error)}
            )
            return False
        return True

    def _mirror(self, tool: str, params: bytes) -> dict[str, str]:
        declared = self._header_params.get(tool)
        if not declared:
            return {}
        arguments: Any = msgspec.json.decode(_decode_fields(params).get("arguments", msgspec.Raw(b"{}")))
        return param_headers(declared, arguments)

    async def call_tool(
        self, name: str, arguments: bytes = EMPTY_PARAMS, *, on_progress: ProgressHandler | None = None
    ) -> bytes:
        """Call a tool; the raw result."""
        params = b'{"name":%b,"arguments":%b}' % (msgspec.json.encode(name), arguments)
        try:
            return await self.request("tools/call", params, on_progress=on_progress)
        except RemoteError as error:
            if error.rpc_code != codes.HEADER_MISMATCH or self._http is None:
                raise
            # Its annotations are news to us. The call was refused unread, so it may be made again.
            await self.list_tools()
            return await self.request("tools/call", params, on_progress=on_progress)

    async def read_resource(self, uri: str) -> bytes:
        """Read a resource; the raw result."""
        return await self.request("resources/read", msgspec.json.encode({"uri": uri}))

    async def get_prompt(self, name: str, arguments: bytes = EMPTY_PARAMS) -> bytes:
        """Get a prompt; the raw result."""
        params = b'{"name":%b,"arguments":%b}' % (msgspec.json.encode(name), arguments)
        return await self.request("prompts/get", params)
