"""What a server answered, for a terminal: text as it is, all else as a line that says what it is and how big."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from limen.cli.printable import printable
from limen.shapes import is_object, items_of, object_of

__all__ = ["Answer", "failure_text", "readable_size"]

_QUIET, _PLAIN = "\x1b[2m", "\x1b[0m"
_TAB = " " * 4


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a tool, a prompt or a resource."""

    result: Mapping[str, Any]

    def draw(self, width: int, *, is_colored: bool) -> str:
        """Its parts below each other."""
        parts = list(_parts(self.result, is_colored=is_colored))
        return "\n".join(parts) if parts else _quiet("(an empty answer)", is_colored=is_colored)


def failure_text(result: Mapping[str, Any]) -> str:
    """What a tool that failed said about it, in one text."""
    return "\n".join(_parts(result, is_colored=False)) or "the tool failed and said nothing about it"


def readable_size(count: int) -> str:
    """A number of bytes as people say it."""
    if count < 1024:
        return f"{count} bytes"
    return f"{count / 1024:.1f} KiB" if count < 1024**2 else f"{count / 1024**2:.1f} MiB"


def _parts(result: Mapping[str, Any], *, is_colored: bool) -> Iterator[str]:
    for message in _objects(result.get("messages")):
        yield _quiet(f"{message.get('role', 'message')}:", is_colored=is_colored)
        yield from _block(message.get("content"), is_colored=is_colored)
    blocks = _objects(result.get("content"))
    for block in blocks:
        yield from _block(block, is_colored=is_colored)
    for contents in _objects(result.get("contents")):
        yield from _resource(contents, is_colored=is_colored)
    if "structuredContent" in result and not _says_same(blocks, result["structuredContent"]):
        yield _lines(json.dumps(result["structuredContent"], ensure_ascii=False, indent=2))


def _block(block: object, *, is_colored: bool) -> Iterator[str]:
    if not is_object(block):
        return
    match block.get("type"):
        case "text":
            yield _lines(str(block.get("text", "")))
        case "image" | "audio" as kind:
            size = readable_size(_decoded_size(str(block.get("data", ""))))
            yield _quiet(f"[{kind} {block.get('mimeType', 'of unknown type')}, {size}]", is_colored=is_colored)
        case "resource":
            yield from _resource(object_of(block.get("resource")), is_colored=is_colored)
        case "resource_link":
            told = " ".join(str(block[key]) for key in ("name", "mimeType") if block.get(key))
            yield _quiet(f"[link {told}] ", is_colored=is_colored) + printable(str(block.get("uri", "")))
        case other:
            yield _quiet(f"[{other}: a kind of content that Limen does not know]", is_colored=is_colored)


def _resource(contents: Mapping[str, Any], *, is_colored: bool) -> Iterator[str]:
    uri, mime = contents.get("uri", ""), contents.get("mimeType")
    if isinstance(contents.get("text"), str):
        yield _quiet(f"[resource {uri}{f', {mime}' if mime else ''}]", is_colored=is_colored)
        yield _lines(contents["text"])
        return
    size = readable_size(_decoded_size(str(contents.get("blob", ""))))
    yield _quiet(f"[resource {uri}, {mime or 'of unknown type'}, {size}]", is_colored=is_colored)


def _says_same(blocks: Sequence[Mapping[str, Any]], structured: object) -> bool:
    """Whether the text is the structured content once more, or its only value, as many servers send it."""
    texts = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
    values = list(structured.values()) if is_object(structured) else []
    for text in texts:
        if len(values) == 1 and values[0] == text:
            return True
        try:
            if json.loads(text) == structured:
                return True
        except (ValueError, RecursionError):
            continue
    return False


def _decoded_size(base64: str) -> int:
    return len(base64) * 3 // 4 - base64[-2:].count("=")


def _lines(text: str) -> str:
    """The text with its line breaks, and nothing else that would move the cursor."""
    return "\n".join(printable(line.expandtabs(len(_TAB))) for line in text.replace("\r\n", "\n").split("\n"))


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in items_of(value) if is_object(item)]


def _quiet(text: str, *, is_colored: bool) -> str:
    return f"{_QUIET}{printable(text)}{_PLAIN}" if is_colored else printable(text)
