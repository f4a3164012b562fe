"""Dies at `crash`, or when so many calls to `hold` wait, with last words; `pid` tells who answers. `echo` works."""

import os
import sys

from tests.servers.speaking import Message, Server, text


class Crashing(Server):
    """Dies when asked."""

    def __init__(self) -> None:
        super().__init__()
        self._held = 0
        self.tools |= {"crash": self.crash, "pid": self.pid, "hold": self.hold}

    def crash(self, arguments: Message) -> Message:
        """The end."""
        sys.stderr.write("segfault imminent\n")
        sys.stderr.flush()
        os._exit(3)

    def pid(self, arguments: Message) -> Message:
        """Who answers."""
        return text(str(os.getpid()))

    def hold(self, arguments: Message) -> Message | None:
        """Not answered: dies with so many of these in flight. With 0 it is answered at once."""
        if not arguments["until"]:
            return text("not held")
        self._held += 1
        return self.crash(arguments) if self._held == arguments["until"] else None


if __name__ == "__main__":
    Crashing().run()
