"""Takes its time over `nap`, as long as it is told, in a thread of its own; `echo` is answered meanwhile."""

import threading
import time

from tests.servers.speaking import Message, Server, text


class Slow(Server):
    """Sleeps and answers at once."""

    def __init__(self) -> None:
        super().__init__()
        self._writing = threading.Lock()
        self.tools["nap"] = self.nap

    def nap(self, arguments: Message) -> None:
        """Answered when it is over."""
        threading.Thread(target=self._sleep, args=(self.call["id"], arguments["s"]), daemon=True).start()

    def _sleep(self, message_id: int, seconds: float) -> None:
        time.sleep(seconds)
        self.reply(message_id, text(f"slept {seconds:g} s"))

    def write(self, data: bytes) -> None:
        with self._writing:
            super().write(data)


if __name__ == "__main__":
    Slow().run()
