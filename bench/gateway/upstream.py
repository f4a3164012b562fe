"""An echo server on stdio, plain asyncio, nothing installed: `upstream COUNT` lists so many tools, all of which echo.

`nap` takes 2 s, `crash` ends the process. Run as `upstream hang` it never says a word.
"""

import asyncio
import json
import os
import sys
from typing import Any

LINE_BYTES = 1 << 24
SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "What is to be said again, exactly as it was said."},
        "mode": {"type": "string", "enum": ["plain", "loud"], "description": "How it is said."},
        "times": {"type": "integer", "minimum": 1, "description": "How often it is said."},
    },
    "required": ["text"],
}


class Upstream:
    """Answers line by line; only a nap lets others go first."""

    def __init__(self, tools: list[dict[str, Any]], writer: asyncio.StreamWriter) -> None:
        self._tools = tools
        self._writer = writer
        self._naps: set[asyncio.Task[None]] = set()

    def say(self, message_id: int | str, **fields: Any) -> None:
        """Answer one request."""
        self._writer.write(json.dumps({"jsonrpc": "2.0", "id": message_id, **fields}).encode() + b"\n")

    def answer(self, request: dict[str, Any]) -> None:
        """Do what one request asks."""
        number, params = request["id"], request.get("params", {})
        match request["method"]:
            case "initialize":
                version, about = params["protocolVersion"], {"name": "bench-upstream", "version": "1"}
                capabilities: dict[str, Any] = {"tools": {}}
                self.say(number, result={"protocolVersion": version, "capabilities": capabilities, "serverInfo": about})
            case "tools/list":
                self.say(number, result={"tools": self._tools})
            case "tools/call" if params["name"] == "crash":
                os._exit(1)
            case "tools/call" if params["name"] == "nap":
                nap = asyncio.ensure_future(self.nap(number))
                self._naps.add(nap)
                nap.add_done_callback(self._naps.discard)
            case "tools/call":
                self.say(number, result={"content": [{"type": "text", "text": params["arguments"]["text"]}]})
            case method:
                self.say(number, error={"code": -32601, "message": f"no {method}"})

    async def nap(self, number: int) -> None:
        """Answer late."""
        await asyncio.sleep(2)
        self.say(number, result={"content": [{"type": "text", "text": "slept"}]})


def a_tool(name: str) -> dict[str, Any]:
    """A definition of the size that real ones have."""
    return {"name": name, "description": f"Says again what it is told, word for word ({name}).", "inputSchema": SCHEMA}


async def main() -> None:
    """Answer line by line until the input ends."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(LINE_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    is_hung = sys.argv[1:] == ["hang"]
    names = [] if is_hung else ["echo", "nap", "crash", *(f"echo{n}" for n in range(3, int(sys.argv[1])))]
    writer = asyncio.StreamWriter(transport, protocol, reader, loop)
    upstream = Upstream([a_tool(name) for name in names], writer)
    while line := await reader.readline():
        request = json.loads(line)
        if "id" in request and not is_hung:
            upstream.answer(request)
            await writer.drain()


if __name__ == "__main__":
    asyncio.run(main())
