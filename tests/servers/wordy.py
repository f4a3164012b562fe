"""Answers at any length: plain text, failures, structured content with and without a declaration, pictures, links."""

from tests.servers.speaking import Message, Server, a_tool, text

SCHEMA: Message = {"type": "object", "properties": {"rows": {"type": "array"}}, "required": ["rows"]}


def letters(count: int) -> str:
    """A text in which every place can be told from its neighbours, with letters of one to four bytes."""
    return "".join(f"{number}·é\U0001f600\n" for number in range(count // 8 + 1))[:count]


class Wordy(Server):
    """Knows no short answer."""

    def __init__(self) -> None:
        super().__init__()
        self.tools |= {"write": self.write_text, "fail": self.fail, "table": self.table, "promised": self.table}
        self.tools |= {"picture": self.picture, "mixed": self.mixed}

    def list_tools(self, cursor: str | None) -> Message:
        return {
            "tools": [a_tool(name, **({"outputSchema": SCHEMA} if name == "promised" else {})) for name in self.tools]
        }

    def write_text(self, arguments: Message) -> Message:
        """So many characters."""
        return text(letters(arguments["chars"]), _meta={"of": "wordy"})

    def fail(self, arguments: Message) -> Message:
        """The same, as a failure."""
        return text(letters(arguments["chars"]), isError=True)

    def table(self, arguments: Message) -> Message:
        """So many characters of text beside so many rows of data."""
        return text(letters(arguments["chars"]), structuredContent={"rows": list(range(arguments["rows"]))})

    def picture(self, arguments: Message) -> Message:
        """A picture of so many bytes, and a line about it."""
        picture = {"type": "image", "mimeType": "image/png", "data": "A" * arguments["bytes"]}
        return {"content": [picture, {"type": "text", "text": letters(arguments.get("chars", 10))}]}

    def mixed(self, arguments: Message) -> Message:
        """Text, then a resource, then text."""
        resource = {"type": "resource", "resource": {"uri": "x://r", "text": letters(arguments["chars"])}}
        return {"content": [{"type": "text", "text": "before"}, resource, {"type": "text", "text": "after"}]}


if __name__ == "__main__":
    Wordy().run()
