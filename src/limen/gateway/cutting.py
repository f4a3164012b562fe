"""Cuts a tool's result that is too large in two: what its caller is sent at once, and the text that is kept for later.

Keeps and reads nothing itself. Pictures and sound stay with the result: they cannot be read in pages, and clients hand
them to their models as what they are, not as text.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

__all__ = ["Cut", "cut", "declares_output"]

HEAD_CHARS: Final = 4096
"""How much of the text is sent at once."""
_MEDIA: Final = frozenset({"image", "audio"})


class Cut(Struct, frozen=True):
    """A result in two: `text` is kept, the rest is sent."""

    text: str
    media: Sequence[Raw]
    fields: dict[str, Raw]
    """All else the result has, as it was."""
    head_chars: int

    def shortened(self, *, uri: str, tool: str, size: int, stay: str) -> bytes:
        """The result that is sent: how the text begins, how large it is and where it can be read."""
        head, total = self.text[: self.head_chars], len(self.text)
        said = (
            f"The result of {tool} is {total:,} characters long, too long to be sent at once; above are the first "
            f"{len(head):,}. Read on with resources/read at {uri}?offset={len(head)}: each page says where the next "
            f"one is. It is kept for {stay}, for you alone."
        )
        link = {
            "type": "resource_link",
            "uri": uri,
            "name": f"result of {tool}",
            "description": "The whole result, in pages.",
            "mimeType": "text/plain",
            "size": size,
        }
        content = [_text(f"{head}\n[cut here]"), _text(said), *self.media, link]
        return msgspec.json.encode({**self.fields, "content": content})


class _Block(Struct):
    type: str = ""
    text: str | UnsetType = UNSET


class _Declared(Struct, rename="camel"):
    output_schema: Raw | UnsetType = UNSET


_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_items = msgspec.json.Decoder(list[Raw]).decode
_decode_block = msgspec.json.Decoder(_Block).decode
_decode_declared = msgspec.json.Decoder(_Declared).decode


def declares_output(definition: bytes) -> bool:
    """Whether a tool promises structured content, which its clients then insist on."""
    return _decode_declared(definition).output_schema is not UNSET


def cut(payload: bytes, limit_bytes: int, *, has_schema: bool) -> Cut | None:
    """The result in two; None when it must go as it is, because it cannot be cut or would not be smaller for it."""
    try:
        fields = _decode_fields(payload)
        blocks = [(_decode_block(raw), raw) for raw in _decode_items(fields.pop("content", Raw(b"[]")))]
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    media = [raw for block, raw in blocks if block.type in _MEDIA]
    if len(payload) - sum(map(_length, media)) <= limit_bytes:
        return None
    texts = [_words(block, raw) for block, raw in blocks if block.type not in _MEDIA]
    structured = fields.get("structuredContent")
    if structured is not None and _length(structured) > limit_bytes:
        if has_schema:
            return None
        del fields["structuredContent"]
        told = bytes(structured).decode()
        texts += [] if told in texts else [told]
    text, head_chars = "\n".join(texts), min(HEAD_CHARS, limit_bytes // 4)
    return Cut(text, media, fields, head_chars) if len(text) > head_chars else None


def _words(block: _Block, raw: Raw) -> str:
    return block.text if block.type == "text" and isinstance(block.text, str) else bytes(raw).decode()


def _length(raw: Raw) -> int:
    return memoryview(raw).nbytes


def _text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}
