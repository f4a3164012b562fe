"""What an HTTP listener grants its clients, and what it says to those who ask for more; it enforces nothing itself."""

from dataclasses import dataclass
from typing import Final

__all__ = ["BAD_REQUEST", "TOO_LARGE", "TOO_MANY", "TOO_SLOW", "ListenLimits"]


@dataclass(frozen=True, slots=True)
class ListenLimits:
    """What one listener grants its clients."""

    max_connections: int = 512
    header_timeout_s: float = 10.0
    """From the connection, or the first byte of a later request, to the end of the headers."""
    body_timeout_s: float = 10.0
    """From the end of the headers to the end of the body, however it is dripped."""
    request_timeout_s: float = 14.0
    """Headers and body together, unless one alone has more: so a half-open request ends within 15 s by default."""
    keep_alive_s: float = 30.0
    stall_timeout_s: float = 30.0
    """How long a peer may leave unread what was sent to it."""
    max_header_bytes: int = 64 * 1024
    grace_s: float = 5.0
    """How long open responses may go on once the listener was told to stop."""

    @property
    def whole_request_s(self) -> float:
        """What a request has from its first byte to its last."""
        return max(self.request_timeout_s, self.header_timeout_s, self.body_timeout_s)

    @property
    def tick_s(self) -> float:
        """How often deadlines are looked at: they are late by a quarter of the shortest at most."""
        shortest = min(self.header_timeout_s, self.body_timeout_s, self.keep_alive_s)
        return min(0.5, max(0.01, shortest / 4))


def _last_words(status: bytes, text: bytes, *headers: bytes) -> bytes:
    head = [b"HTTP/1.1 " + status, b"content-type: text/plain; charset=utf-8", b"content-length: %d" % len(text)]
    return b"\r\n".join([*head, *headers, b"connection: close", b"", text])


BAD_REQUEST: Final = _last_words(b"400 Bad Request", b"This is not an HTTP/1.1 request.\n")
TOO_SLOW: Final = _last_words(b"408 Request Timeout", b"The request did not arrive in time.\n")
TOO_LARGE: Final = _last_words(b"431 Request Header Fields Too Large", b"The headers are too large.\n")
TOO_MANY: Final = _last_words(b"503 Service Unavailable", b"Too many connections.\n", b"retry-after: 5")
