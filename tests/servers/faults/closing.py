"""Closes its output in the middle of an answer and goes on living; `echo` works until then."""

import os
import time

from tests.servers.speaking import Message, Server


class Closing(Server):
    """Stops half way."""

    def __init__(self) -> None:
        super().__init__()
        self.tools["stop"] = self.stop

    def stop(self, arguments: Message) -> None:
        """Half an answer, then nothing ever again."""
        self.write(b'{"jsonrpc":"2.0","id":')
        os.close(1)
        while True:
            time.sleep(60)


if __name__ == "__main__":
    Closing().run()
