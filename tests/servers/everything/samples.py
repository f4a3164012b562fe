"""The smallest picture and the shortest sound, made here so that no blob needs explaining."""

import io
import struct
import wave
import zlib
from base64 import b64encode
from typing import Any


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _red_pixel() -> bytes:
    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    row = zlib.compress(b"\0\xff\0\0")
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", row) + _chunk(b"IEND", b"")


def _short_silence() -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8000)
        sound.writeframes(b"\x80" * 8)
    return out.getvalue()


PNG = _red_pixel()
WAV = _short_silence()


def image() -> dict[str, Any]:
    """One red pixel as content."""
    return {"type": "image", "data": b64encode(PNG).decode(), "mimeType": "image/png"}


def audio() -> dict[str, Any]:
    """A millisecond of silence as content."""
    return {"type": "audio", "data": b64encode(WAV).decode(), "mimeType": "audio/wav"}


def embedded(uri: str, body: str, mime: str = "text/plain") -> dict[str, Any]:
    """A resource carried inside a message."""
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": body}}
