"""Declares broken schemas beside a sound one, and returns structured content that does not fit what it declared."""

from tests.servers.speaking import Message, Server, a_tool, text

NUMBER: Message = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}


class Schemas(Server):
    """Promises what it does not keep."""

    def __init__(self) -> None:
        super().__init__()
        self.tools |= {"unfitting": self.unfitting, "shapeless": self.shapeless, "odd": self.echo}

    def list_tools(self, cursor: str | None) -> Message:
        return {
            "tools": [
                a_tool("echo"),
                {"name": "without", "description": "has no schema"},
                a_tool("text", inputSchema="an object, surely"),
                a_tool("array", inputSchema=[]),
                a_tool("output", outputSchema=True),
                {"description": "has no name", "inputSchema": {"type": "object"}},
                "not an object at all",
                None,
                a_tool("odd", inputSchema={"type": "banana", "properties": 7, "$ref": "#/nowhere"}),
                a_tool("unfitting", outputSchema=NUMBER),
                a_tool("shapeless", outputSchema=NUMBER),
            ]
        }

    def unfitting(self, arguments: Message) -> Message:
        """Structured, but not as declared."""
        return text("n is a word", structuredContent={"n": "a word"})

    def shapeless(self, arguments: Message) -> None:
        """A result that is no object."""
        self.say(id=self.call["id"], result=["not", "an", "object"])


if __name__ == "__main__":
    Schemas().run()
