"""Answers one call under an id that nobody used; `echo` works."""

from tests.servers.speaking import Message, Server, text


class WrongId(Server):
    """Mistakes the id."""

    def __init__(self) -> None:
        super().__init__()
        self.tools["mistaken"] = self.mistaken

    def mistaken(self, arguments: Message) -> None:
        """Answered, but not to whoever asked."""
        for wrong in (9_999_999, "x", str(self.call["id"]), -1):
            self.reply(wrong, text("not yours"))


if __name__ == "__main__":
    WrongId().run()
