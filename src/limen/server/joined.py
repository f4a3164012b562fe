"""Joins the head of an HTTP response to the first piece of its body; it writes nothing that it was not given."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import Transport

    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

__all__ = ["Joined"]


class Joined:
    """The transport as one response sees it: its head waits for the first piece of its body, to leave in one write.

    Two writes are two packets, and to the reader two wake-ups.
    """

    __slots__ = ("_cycle", "_head", "_is_begun", "_transport")

    def __init__(self, cycle: "RequestResponseCycle", transport: "Transport") -> None:
        self._cycle = cycle
        self._transport = transport
        self._head = b""
        self._is_begun = False

    def write(self, data: bytes) -> None:
        """Hold the head, which is the first that a response writes; join it to what comes next."""
        if self._is_begun:
            self._transport.write(self._head + data if self._head else data)
            self._head = b""
        elif self._cycle.response_started:
            self._is_begun = True
            self._head = data
        else:
            self._transport.write(data)

    def flush(self) -> None:
        """Send a head that no body follows."""
        if self._head:
            self.write(b"")

    def close(self) -> None:
        """End the connection, once everything is sent."""
        self.flush()
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether the connection is ending."""
        return self._transport.is_closing()
