"""Sends lines of as many bytes as it is asked for, whatever the other side can bear; `echo` works."""

import json

from tests.servers.speaking import Message, Server

PIECE = b"x" * (1 << 20)


class Enormous(Server):
    """Knows no measure."""

    def __init__(self) -> None:
        super().__init__()
        self.tools["grow"] = self.grow

    def grow(self, arguments: Message) -> None:
        """A result of so many MB, id first or id last."""
        head = json.dumps(self.call["id"]).encode()
        first, last = (b'"id":%b,' % head, b"") if arguments.get("id") != "last" else (b"", b',"id":%b' % head)
        self.write(b'{"jsonrpc":"2.0",%b"result":{"content":[{"type":"text","text":"' % first)
        for _ in range(arguments["mb"]):
            self.write(PIECE)
        self.write(b'"}]}%b}\n' % last)


if __name__ == "__main__":
    Enormous().run()
