"""The peer: an echo server on the official SDK, `stdio` or `http PORT`, as its documentation sets one up."""

import sys

import anyio
import mcp.types as types
from mcp.server.lowlevel.server import Server


async def list_tools(context: object, params: object) -> types.ListToolsResult:
    """One tool."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return types.ListToolsResult(tools=[types.Tool(name="echo", description="Say it back.", input_schema=schema)])


async def call_tool(context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Say it back."""
    said = str((params.arguments or {})["text"])
    return types.CallToolResult(content=[types.TextContent(type="text", text=said)])


server = Server("sdk-echo", on_list_tools=list_tools, on_call_tool=call_tool)


async def serve_stdio() -> None:
    """Serve our own stdin and stdout."""
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def serve_http(port: int) -> None:
    """Serve Streamable HTTP; uvicorn picks uvloop and httptools, which are installed here."""
    import uvicorn

    uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=port, log_level="error", access_log=False)


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        anyio.run(serve_stdio)
    else:
        serve_http(int(sys.argv[2]))
