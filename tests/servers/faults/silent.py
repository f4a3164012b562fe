"""Never answers `wait`, and remembers what was taken back; `echo` works."""

from tests.servers.speaking import Message, Server, text


class Silent(Server):
    """Has nothing to say."""

    def __init__(self) -> None:
        super().__init__()
        self._cancelled: list[Message] = []
        self.tools |= {"wait": self.wait, "cancelled": self.cancelled}

    def take(self, message: Message) -> None:
        if message.get("method") == "notifications/cancelled":
            self._cancelled.append(message["params"])
        super().take(message)

    def wait(self, arguments: Message) -> None:
        """Never answered."""

    def cancelled(self, arguments: Message) -> Message:
        """How many requests were taken back."""
        return text(str(len(self._cancelled)))


if __name__ == "__main__":
    Silent().run()
