"""A tiny MCP server on stdin and stdout, for others to misbehave on top of; nothing but the standard library in it.

Run as it is, it answers `echo`. A tool that is a generator yields the questions it has for the client, each as method
and params, and is sent the answers; so any number of calls can be at work at once without a thread.
"""

import json
import sys
from collections.abc import Callable, Generator
from itertools import count
from typing import Any

Message = dict[str, Any]
Asking = Generator[tuple[str, Message], Message, Message]

ANY_OBJECT: Message = {"type": "object"}


def a_tool(name: str, **more: Any) -> Message:
    """A definition that takes anything."""
    return {"name": name, "description": f"{name} of a test", "inputSchema": ANY_OBJECT, **more}


def text(said: str, **more: Any) -> Message:
    """A tool's result that says something."""
    return {"content": [{"type": "text", "text": said}], **more}


class Server:
    """Answers `initialize`, `ping`, `tools/list` and `tools/call`."""

    def __init__(self) -> None:
        self.capabilities: Message = {"tools": {}}
        self.tools: dict[str, Callable[[Message], Message | Asking | None]] = {"echo": self.echo}
        self.call: Message = {}
        """The request that is being answered."""
        self._asking: dict[str, tuple[int, Asking]] = {}
        self._numbers = count(1)

    def run(self) -> None:
        """Serve until the input ends."""
        for line in sys.stdin.buffer:
            self.take(json.loads(line))

    def take(self, message: Message) -> None:
        """Deal with one message."""
        if "method" not in message:
            self._resume(message)
        elif "id" in message:
            self.serve(message)

    def serve(self, request: Message) -> None:
        """Answer one request."""
        match request["method"]:
            case "initialize":
                self.reply(request["id"], self.greeting(request["params"]))
            case "ping" | "logging/setLevel":
                self.reply(request["id"], {})
            case "tools/list":
                self.reply(request["id"], self.list_tools(request.get("params", {}).get("cursor")))
            case "tools/call":
                self.call_tool(request)
            case method:
                self.say(id=request["id"], error={"code": -32601, "message": f"no {method}"})

    def greeting(self, params: Message) -> Message:
        """The result of `initialize`."""
        about = {"name": type(self).__name__, "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": self.capabilities, "serverInfo": about}

    def list_tools(self, cursor: str | None) -> Message:
        """One page of tools."""
        return {"tools": [a_tool(name) for name in self.tools]}

    def call_tool(self, request: Message) -> None:
        """Answer one call, now or when its questions are answered."""
        self.call = request
        result = self.tools[request["params"]["name"]](request["params"].get("arguments", {}))
        if isinstance(result, dict):
            self.reply(request["id"], result)
        elif result is not None:
            self._advance(request["id"], result, None)

    def echo(self, arguments: Message) -> Message:
        """What was said."""
        return text(json.dumps(arguments))

    def reply(self, message_id: int | str, result: Message) -> None:
        """Answer a request."""
        self.say(id=message_id, result=result)

    def tell(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.say(method=method, params=params)

    def say(self, **fields: Any) -> None:
        """Send one message."""
        self.write(json.dumps({"jsonrpc": "2.0", **fields}).encode() + b"\n")

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def _advance(self, message_id: int, asking: Asking, answer: Message | None) -> None:
        try:
            method, params = next(asking) if answer is None else asking.send(answer)
        except StopIteration as done:
            self.reply(message_id, done.value)
            return
        question = f"q{next(self._numbers)}"
        self._asking[question] = message_id, asking
        self.say(id=question, method=method, params=params)

    def _resume(self, answer: Message) -> None:
        if answer.get("id") in self._asking:
            self._advance(*self._asking.pop(answer["id"]), answer)


if __name__ == "__main__":
    Server().run()
