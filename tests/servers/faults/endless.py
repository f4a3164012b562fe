"""Pages for ever: `endless fresh` with a new cursor each time, `endless cycle` with three that come round again."""

import sys

from tests.servers.speaking import Message, Server, a_tool


class Endless(Server):
    """Has always one more page."""

    is_cyclic = False

    def list_tools(self, cursor: str | None) -> Message:
        page = int(cursor or 0)
        following = (page + 1) % 3 if self.is_cyclic else page + 1
        return {"tools": [a_tool(f"echo{page}"), a_tool("echo")], "nextCursor": str(following)}


if __name__ == "__main__":
    server = Endless()
    server.is_cyclic = sys.argv[1:] == ["cycle"]
    server.run()
