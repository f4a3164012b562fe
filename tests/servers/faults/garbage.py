"""Prints what is no message between its answers, and in a row of its own before them."""

import sys

from tests.servers.speaking import Message, Server

NOISE = (b"starting up...\n", b"{not json\n", b"[]\n", b"42\n", b"\xff\xfe\x00\n", b'{"jsonrpc":"1.0","id":1}\n', b"\n")


class Garbage(Server):
    """Noise before each answer, and after it."""

    def serve(self, request: Message) -> None:
        self.write(b"".join(NOISE))
        super().serve(request)
        self.write(b"done\n")


if __name__ == "__main__":
    sys.stderr.write("a noisy one\n")
    Garbage().run()
