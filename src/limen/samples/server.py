"""A tiny MCP server on stdin and stdout, to try Limen with: `echo` and `get_time`. Uses the standard library only.

Run it as `python -m limen.samples.server`; `limen init` puts it into the settings, switched off.
"""

import json
import sys
from datetime import UTC, datetime
from typing import Any, Final, TypeGuard

__all__ = ["answer", "main"]

Message = dict[str, Any]

VERSION: Final = "2025-11-25"
OLDER: Final = ("2024-11-05", "2025-03-26", "2025-06-18")
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602

TOOLS: Final[list[Message]] = [
    {
        "name": "echo",
        "title": "Echo",
        "description": "Answers with the text it was given.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "What to answer with."}},
            "required": ["text"],
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
    {
        "name": "get_time",
        "title": "Time",
        "description": "Tells the time in UTC.",
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
        "outputSchema": {
            "type": "object",
            "properties": {"time": {"type": "string", "description": "ISO 8601, in UTC."}},
            "required": ["time"],
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
]


class Refused(Exception):
    """A request that cannot be answered, with its JSON-RPC code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def main() -> None:
    """Serve until stdin ends."""
    for line in sys.stdin.buffer:
        reply = answer(line)
        if reply is not None:
            sys.stdout.write(json.dumps(reply, separators=(",", ":")) + "\n")
            sys.stdout.flush()


def answer(line: bytes) -> Message | None:
    """What goes back for one line; None for what wants no answer."""
    number: object = None
    try:
        message = _read(line)
        number = message.get("id")
        if "method" not in message or "id" not in message:
            return None
        result = _result(str(message["method"]), message.get("params") or {})
    except Refused as refusal:
        return {"jsonrpc": "2.0", "id": number, "error": {"code": refusal.code, "message": str(refusal)}}
    return {"jsonrpc": "2.0", "id": number, "result": result}


def _read(line: bytes) -> Message:
    try:
        message: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Refused(PARSE_ERROR, f"not JSON: {error}") from error
    if not _is_object(message):
        raise Refused(INVALID_REQUEST, "a message must be an object")
    return message


def _result(method: str, params: object) -> Message:
    given: Message = params if _is_object(params) else {}
    match method:
        case "initialize":
            wanted = given.get("protocolVersion")
            return {
                "protocolVersion": wanted if wanted in OLDER else VERSION,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "limen-sample", "title": "Limen's sample server", "version": "1.0.0"},
                "instructions": "Two harmless tools to see that everything is connected.",
            }
        case "ping":
            return {}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            arguments = given.get("arguments")
            return _call(given.get("name"), arguments if _is_object(arguments) else {})
        case _:
            raise Refused(METHOD_NOT_FOUND, f"no method {method}")


def _call(name: object, arguments: Message) -> Message:
    match name:
        case "echo":
            text = arguments.get("text")
            if not isinstance(text, str):
                return {"content": [_text("text: give a text to answer with")], "isError": True}
            return {"content": [_text(text)]}
        case "get_time":
            now = datetime.now(UTC).isoformat(timespec="seconds")
            return {"content": [_text(now)], "structuredContent": {"time": now}}
        case _:
            raise Refused(INVALID_PARAMS, f"no tool {name}")


def _is_object(value: object) -> TypeGuard[Message]:
    return isinstance(value, dict)


def _text(text: str) -> Message:
    return {"type": "text", "text": text}


if __name__ == "__main__":
    main()
