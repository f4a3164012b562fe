"""Answers every request twice, the second time with something else."""

from tests.servers.speaking import Message, Server, text


class Twice(Server):
    """Says it again."""

    def call_tool(self, request: Message) -> None:
        super().call_tool(request)
        self.reply(request["id"], text("said again"))


if __name__ == "__main__":
    Twice().run()
