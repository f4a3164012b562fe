"""Takes its time over `nap`, as long as it is told or until `wake`; `echo` is answered meanwhile."""

import threading

from tests.servers.speaking import Message, Server, text


class Slow(Server):
    """Sleeps and answers at once."""

    def __init__(self) -> None:
        super().__init__()
        self._writing = threading.Lock()
        self._woken = threading.Event()
        self.tools |= {"nap": self.nap, "wake": self.wake}

    def nap(self, arguments: Message) -> None:
        """Answered when it is over."""
        threading.Thread(target=self._sleep, args=(self.call["id"], arguments["s"]), daemon=True).start()

    def wake(self, arguments: Message) -> Message:
        """End every nap, if that is meant."""
        if arguments["is_meant"]:
            self._woken.set()
        return text("woken")

    def _sleep(self, message_id: int, seconds: float) -> None:
        self.reply(message_id, text("woken" if self._woken.wait(seconds) else "slept"))

    def write(self, data: bytes) -> None:
        with self._writing:
            super().write(data)


if __name__ == "__main__":
    Slow().run()
