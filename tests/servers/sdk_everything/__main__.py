"""A server on the official Python SDK with all that the conformance suites want, over stdio or HTTP, in both revisions.

python -m tests.servers.sdk_everything            # stdio
python -m tests.servers.sdk_everything --http     # prints its URL once it listens
"""

import socket
import sys
import warnings
from typing import Any

import anyio
import uvicorn
from mcp import MCPDeprecationWarning, MCPError, types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

from tests.servers.sdk_everything import notices, reading
from tests.servers.sdk_everything.asking import Context, NeedsInput, Turn
from tests.servers.sdk_everything.tools import TOOLS, offer, told

CHANGING = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)


async def _fleeting(_: Turn) -> types.CallToolResult:
    return told("here for now")


class Everything:
    """What the server's handlers share."""

    def __init__(self) -> None:
        bus = InMemorySubscriptionBus()
        self.changes = notices.Changes(bus)
        self.listen = ListenHandler(bus)
        self._offers = {offered.tool.name: offered for offered in (*TOOLS, *notices.tools(self.changes))}
        self._fleeting = offer("test_fleeting_tool", "Comes and goes.", _fleeting)

    async def list_tools(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """All tools of now."""
        shown = [self._fleeting] if "tool" in self.changes.shown else []
        return types.ListToolsResult(tools=[offered.tool for offered in (*self._offers.values(), *shown)])

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Do what is asked, or ask back."""
        found = {**self._offers, "test_fleeting_tool": self._fleeting}.get(params.name)
        if found is None:
            raise MCPError(-32602, f"there is no tool {params.name}")
        try:
            return await found.run(Turn(ctx, params, params.arguments or {}))
        except NeedsInput as needed:
            return needed.result

    async def list_resources(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """The same ones at all times."""
        return types.ListResourcesResult(resources=reading.RESOURCES)

    async def list_templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """The one there is."""
        return types.ListResourceTemplatesResult(resource_templates=reading.TEMPLATES)

    async def list_prompts(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """All prompts of now."""
        shown = [reading.FLEETING] if "prompt" in self.changes.shown else []
        return types.ListPromptsResult(prompts=[*(prompt for prompt, _ in reading.PROMPTS.values()), *shown])

    async def get_prompt(
        self, ctx: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Render it, or ask back."""
        try:
            return await reading.get(Turn(ctx, params, params.arguments or {}), params.name)
        except NeedsInput as needed:
            return needed.result

    async def subscribe(self, _: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Tell of this resource from now on."""
        self.changes.watched.add(params.uri)
        return types.EmptyResult()

    async def unsubscribe(self, _: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """No longer."""
        self.changes.watched.discard(params.uri)
        return types.EmptyResult()

    async def set_level(self, _: Context, __: types.SetLevelRequestParams) -> types.EmptyResult:
        """Accepted; every level is sent, for whoever is in between to sort out."""
        return types.EmptyResult()


class Changing(Server[Any]):
    """Says in the handshake that its lists change, over HTTP too."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *rest: Any, **more: Any
    ) -> InitializationOptions:
        """As the SDK makes them, with the changes announced."""
        return super().create_initialization_options(notification_options or CHANGING, *rest, **more)


class Journal(EventStore):
    """The events of every stream, so that a client that lost one can go on where it was."""

    def __init__(self) -> None:
        self._events: list[tuple[StreamId, types.JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: StreamId, message: types.JSONRPCMessage | None) -> EventId:
        """Keep it; its id is its place."""
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id: EventId, send_callback: EventCallback) -> StreamId | None:
        """All that came on the same stream since."""
        last = int(last_event_id)
        stream = self._events[last - 1][0]
        for place, (found, message) in enumerate(self._events[last:], last + 1):
            if found == stream and message is not None:
                await send_callback(EventMessage(message, str(place)))
        return stream


def build() -> Server[Any]:
    """The server."""
    everything = Everything()
    server = Changing(
        "sdk-everything",
        version="1.0.0",
        instructions="Everything a test may want, on the official SDK.",
        on_list_tools=everything.list_tools,
        on_call_tool=everything.call_tool,
        on_list_resources=everything.list_resources,
        on_list_resource_templates=everything.list_templates,
        on_read_resource=reading.read,
        on_subscribe_resource=everything.subscribe,
        on_unsubscribe_resource=everything.unsubscribe,
        on_subscriptions_listen=everything.listen,
        on_list_prompts=everything.list_prompts,
        on_get_prompt=everything.get_prompt,
        on_completion=reading.complete,
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, everything.set_level)
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=server.name))
    return server


async def serve_stdio() -> None:
    """Serve the one client on stdin and stdout."""
    server = build()
    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


async def serve_http() -> None:
    """Serve whoever comes to a free port of the loopback interface."""
    app = build().streamable_http_app(event_store=Journal(), retry_interval=100)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        config = uvicorn.Config(app, log_level="warning", ws="none")
        await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == "__main__":
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    anyio.run(serve_http if "--http" in sys.argv else serve_stdio)
