"""Server-sent events as bytes: an incremental parser and an encoder. Does no I/O and never reconnects.

The parser follows the WHATWG event stream rules; what it adds is a bound on memory. An event that
passes the limit is dropped while it streams in and reported once, in its place.
"""

from dataclasses import dataclass
from typing import Final

__all__ = ["Event", "EventParser", "Oversized", "encode_event"]

_BOM: Final = b"\xef\xbb\xbf"
# Room for a field name before the payload that the limit is about.
_FIELD_SLACK: Final = 64
# Longer than any sane delay; also keeps int() away from hostile digit strings.
_RETRY_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class Event:
    """One dispatched event; `event_id` is the last id seen on the stream, "" when there was none."""

    data: bytes
    event: str
    event_id: str


@dataclass(frozen=True, slots=True)
class Oversized:
    """Stands where an event passed the limit; its data is gone, its id is known."""

    event_id: str


class EventParser:
    """Bytes in, events out; splitting the input anywhere gives the same events."""

    def __init__(self, limit_bytes: int) -> None:
        self.last_event_id = ""
        self.retry_ms: int | None = None
        self._limit = limit_bytes
        self._start: bytes | None = b""
        self._after_cr = False
        self._partial: list[bytes] = []
        self._partial_size = 0
        self._data: list[bytes] = []
        self._data_size = 0
        self._is_oversized = False
        self._event = ""
        self._id = ""

    def feed(self, chunk: bytes) -> list[Event | Oversized]:
        """Take the next bytes of the stream; the events they complete, in order."""
        chunk = self._plain_newlines(self._without_bom(chunk))
        found: list[Event | Oversized] = []
        if not chunk:
            return found
        first, *rest = chunk.split(b"\n")
        self._hold(first)
        if rest:
            tail = rest.pop()
            self._line(self._take_held(), found)
            for line in rest:
                self._line(line, found)
            self._hold(tail)
        return found

    def _without_bom(self, chunk: bytes) -> bytes:
        if self._start is None:
            return chunk
        start = self._start + chunk
        if len(start) < len(_BOM) and _BOM.startswith(start):
            self._start = start
            return b""
        self._start = None
        return start.removeprefix(_BOM)

    def _plain_newlines(self, chunk: bytes) -> bytes:
        if not chunk:
            return chunk
        if self._after_cr and chunk[0] == 0x0A:
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk

    def _hold(self, piece: bytes) -> None:
        # Past the bound only the length still matters, and the first byte, which tells a comment.
        room = self._limit + _FIELD_SLACK + 1 - self._partial_size
        if piece and room > 0:
            self._partial.append(piece[:room])
            self._partial_size += min(len(piece), room)

    def _take_held(self) -> bytes:
        line = b"".join(self._partial)
        self._partial.clear()
        self._partial_size = 0
        return line

    def _line(self, line: bytes, found: list[Event | Oversized]) -> None:
        if not line:
            self._dispatch(found)
        elif line[0] == 0x3A:
            return
        elif len(line) > self._limit + _FIELD_SLACK:
            self._drop_event()
        else:
            name, _, value = line.partition(b":")
            self._field(name, value[1:] if value[:1] == b" " else value)

    def _field(self, name: bytes, value: bytes) -> None:
        if name == b"data":
            self._data_size += len(value) + (1 if self._data else 0)
            if self._data_size > self._limit:
                self._drop_event()
            elif not self._is_oversized:
                self._data.append(value)
        elif name == b"event":
            self._event = value.decode(errors="replace")
        elif name == b"id":
            if b"\0" not in value:
                self._id = value.decode(errors="replace")
        elif name == b"retry" and value.isdigit() and len(value) <= _RETRY_DIGITS:
            self.retry_ms = int(value)

    def _drop_event(self) -> None:
        self._is_oversized = True
        self._data.clear()

    def _dispatch(self, found: list[Event | Oversized]) -> None:
        self.last_event_id = self._id
        if self._is_oversized:
            found.append(Oversized(self._id))
        elif self._data:
            found.append(Event(b"\n".join(self._data), self._event or "message", self._id))
        self._data.clear()
        self._data_size = 0
        self._is_oversized = False
        self._event = ""


def encode_event(
    data: bytes, event_id: str | None = None, event: str | None = None, retry_ms: int | None = None
) -> bytes:
    """One event as bytes, ready to write.

    Raises:
        ValueError: the id or event name holds a line end, or the id a NUL; a client would misread it.
    """
    head = b""
    if event_id is not None:
        head = b"id: %b\n" % _one_line("event_id", event_id)
        if "\0" in event_id:
            raise ValueError("event_id must not hold NUL")
    if event is not None:
        head += b"event: %b\n" % _one_line("event", event)
    if retry_ms is not None:
        head += b"retry: %d\n" % retry_ms
    if b"\n" in data or b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\n", b"\ndata: ")
    return b"%bdata: %b\n\n" % (head, data)


def _one_line(name: str, value: str) -> bytes:
    if "\n" in value or "\r" in value:
        raise ValueError(f"{name} must be one line")
    return value.encode()
