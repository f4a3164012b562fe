"""Forks a daemon, in a session of its own, that keeps all pipes open; then dies at `crash`. `echo` works."""

import os
import time

from tests.servers.speaking import Message, Server, text


class Daemon(Server):
    """Leaves somebody behind."""

    def __init__(self) -> None:
        super().__init__()
        self.tools |= {"fork": self.fork, "crash": self.crash}

    def fork(self, arguments: Message) -> Message:
        """Leave a daemon behind; tells both processes."""
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.write(writing, str(os.getpid()).encode())
                while True:
                    time.sleep(60)
            os._exit(0)
        os.wait()
        return text(f"{os.getpid()} {int(os.read(reading, 20))}")

    def crash(self, arguments: Message) -> Message:
        """The end, of this process alone."""
        os._exit(3)


if __name__ == "__main__":
    Daemon().run()
