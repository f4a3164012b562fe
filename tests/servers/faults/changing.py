"""Changes its list while it is read: each page but the last comes with the news that the list is another now."""

from tests.servers.speaking import Message, Server, a_tool

READINGS = 3
PAGES = 3


class Changing(Server):
    """Cannot make up its mind, three times over."""

    def __init__(self) -> None:
        super().__init__()
        self.capabilities = {"tools": {"listChanged": True}}
        self._reading = 0

    def list_tools(self, cursor: str | None) -> Message:
        page = int(cursor or 0)
        if page == 0:
            self._reading += 1
        if page == 1 and self._reading < READINGS:
            self.tell("notifications/tools/list_changed")
        # An item moves to the next page while it is read, and so is seen twice.
        found = [a_tool("echo"), a_tool(f"reading{self._reading}_page{page}")]
        return {"tools": found} | ({"nextCursor": str(page + 1)} if page + 1 < PAGES else {})


if __name__ == "__main__":
    Changing().run()
