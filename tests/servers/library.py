"""A server with a bit of everything that the command line shows: content of all kinds, resources, prompts, questions.

`slow` never answers; what becomes of it is written to the file that the first argument names.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.servers.speaking import Asking, Message, Server, text

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
GUIDE = "# Lighthouse\n\nThe keeper of the lighthouse is called Maren.\n"
SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "limit": {"type": "integer"},
        "deep": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["query"],
}
FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "Who borrows it"},
        "days": {"type": "integer", "minimum": 1, "maximum": 30, "default": 14},
        "shelf": {"type": "string", "enum": ["north", "south"]},
    },
    "required": ["name", "shelf"],
}


class Library(Server):
    """Lends books."""

    def __init__(self, diary: Path | None) -> None:
        super().__init__()
        self.capabilities = {"tools": {}, "resources": {}, "prompts": {}, "logging": {}}
        self._diary = diary
        self.tools: dict[str, Callable[[Message], Any]] = {
            "search": self.echo,
            "picture": self.picture,
            "colours": self.colours,
            "fail": self.fail,
            "borrow": self.borrow,
            "visit": self.visit,
            "walk": self.walk,
            "slow": self.slow,
        }

    def list_tools(self, cursor: str | None) -> Message:
        tools = [{"name": name, "description": f"{name} books", "inputSchema": SCHEMA} for name in self.tools]
        return {"tools": tools}

    def take(self, message: Message) -> None:
        if message.get("method") == "notifications/cancelled" and self._diary is not None:
            self._diary.write_text("cancelled")
        super().take(message)

    def serve(self, request: Message) -> None:
        match request["method"]:
            case "resources/list":
                found = [{"uri": "book://guide", "name": "guide", "mimeType": "text/markdown"}]
                self.reply(request["id"], {"resources": found})
            case "resources/templates/list":
                self.reply(request["id"], {"resourceTemplates": [{"uriTemplate": "book://by/{author}", "name": "by"}]})
            case "resources/read":
                uri = request["params"]["uri"]
                self.reply(request["id"], {"contents": [{"uri": uri, "mimeType": "text/markdown", "text": GUIDE}]})
            case "prompts/list":
                arguments = [{"name": "book", "required": True}]
                self.reply(request["id"], {"prompts": [{"name": "review", "arguments": arguments}]})
            case "prompts/get":
                book = request["params"].get("arguments", {}).get("book")
                content = {"type": "text", "text": f"Review {book}."}
                self.reply(request["id"], {"messages": [{"role": "user", "content": content}]})
            case _:
                super().serve(request)

    def picture(self, arguments: Message) -> Message:
        return {
            "content": [
                {"type": "image", "data": PIXEL, "mimeType": "image/png"},
                {"type": "resource_link", "uri": "book://guide", "name": "guide"},
                {"type": "resource", "resource": {"uri": "book://note", "text": "a note"}},
            ],
            "structuredContent": {"width": 1},
        }

    def colours(self, arguments: Message) -> Message:
        return text("\x1b[31mred\x1b[0m\u202e")

    def fail(self, arguments: Message) -> Message:
        return text("the shelf is empty", isError=True)

    def borrow(self, arguments: Message) -> Asking:
        answer = yield "elicitation/create", {"message": "Who are you?", "requestedSchema": FORM}
        return text(repr(answer.get("result", answer.get("error"))))

    def visit(self, arguments: Message) -> Asking:
        page = {"mode": "url", "elicitationId": "e1", "url": "https://example.com/pay", "message": "Pay first."}
        answer = yield "elicitation/create", page
        return text(repr(answer.get("result", answer.get("error"))))

    def walk(self, arguments: Message) -> Message:
        token = self.call["params"].get("_meta", {}).get("progressToken")
        for step in (1, 2):
            if token is not None:
                self.tell(
                    "notifications/progress", progressToken=token, progress=step, total=2, message=f"aisle {step}"
                )
        self.tell("notifications/message", level="warning", data="mind the step")
        return text(f"walked{'' if token is None else ' with company'}")

    def slow(self, arguments: Message) -> None:
        self.tell("notifications/message", level="info", data="looking for it")


if __name__ == "__main__":
    Library(Path(sys.argv[1]) if len(sys.argv) > 1 else None).run()
