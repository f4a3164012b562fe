"""A server on the official SDK that is reached over the older HTTP+SSE; prints its address when it is ready."""

import asyncio
import socket

import mcp_types as types
import uvicorn
from mcp.server.lowlevel.server import Server
from mcp.server.sse import SseServerTransport
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route


async def list_tools(context: object, params: object) -> types.ListToolsResult:
    """One tool."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return types.ListToolsResult(tools=[types.Tool(name="echo", description="Say it again.", input_schema=schema)])


async def call_tool(context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Say it again."""
    text = str((params.arguments or {}).get("text", ""))
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def main() -> None:
    """Serve until killed."""
    server = Server("older", on_list_tools=list_tools, on_call_tool=call_tool)
    transport = SseServerTransport("/messages/")

    async def stream(request: Request) -> Response:
        send = request._send  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the SDK offers no other way
        async with transport.connect_sse(request.scope, request.receive, send) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
        return Response()

    app = Starlette(routes=[Route("/sse", stream), Mount("/messages/", app=transport.handle_post_message)])
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/sse", flush=True)
        await uvicorn.Server(uvicorn.Config(app, log_level="error")).serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main())
