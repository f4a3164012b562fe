"""Lists as many tools as its argument says, on pages of a thousand, each with a schema of some size; all of them echo.

Run as `many COUNT [PREFIX]`.
"""

import sys

from tests.servers.speaking import Message, Server, a_tool

PAGE = 1000
SCHEMA: Message = {
    "type": "object",
    "properties": {
        name: {"type": "string", "description": f"The {name} that is meant."} for name in ("path", "query", "mode")
    },
    "required": ["path"],
}


class Many(Server):
    """Has a tool for everything."""

    def __init__(self, count: int, prefix: str) -> None:
        super().__init__()
        self._names = [f"{prefix}{number}" for number in range(count)]
        self.tools |= dict.fromkeys(self._names, self.echo)

    def list_tools(self, cursor: str | None) -> Message:
        start = int(cursor or 0)
        page: Message = {"tools": [a_tool(name, inputSchema=SCHEMA) for name in self._names[start : start + PAGE]]}
        return page | ({"nextCursor": str(start + PAGE)} if start + PAGE < len(self._names) else {})


if __name__ == "__main__":
    Many(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "tool").run()
