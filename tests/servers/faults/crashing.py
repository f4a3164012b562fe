"""Dies at `crash`, with last words; `echo` works, and `pid` tells who answers."""

import os
import sys

from tests.servers.speaking import Message, Server, text


class Crashing(Server):
    """Dies when asked."""

    def __init__(self) -> None:
        super().__init__()
        self.tools |= {"crash": self.crash, "pid": self.pid, "hold": self.hold}

    def crash(self, arguments: Message) -> Message:
        """The end."""
        sys.stderr.write("segfault imminent\n")
        sys.stderr.flush()
        os._exit(3)

    def pid(self, arguments: Message) -> Message:
        """Who answers."""
        return text(str(os.getpid()))

    def hold(self, arguments: Message) -> None:
        """Never answered: what is in flight when it dies."""


if __name__ == "__main__":
    Crashing().run()
