"""The changes of a brain as server-sent events: `ready`, `change` and `ping`, resumable by Last-Event-ID.

A stream is one call on the road, for as long as its client stays; what the call reports is what the client hears.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from limen.calls.oneway import OneWay
from limen.errors import ChannelClosed, LimenError, Overloaded
from limen.server.responses import Send
from limen.toolsets.storeshapes import EventsArgs
from limen.transport.sse import encode_event
from limen.web.problems import problem_of
from limen.web.routes import Ask, Header, Promise, Route

__all__ = ["EventStreams"]

PING_S: Final = 25.0
_HEAD: Final[list[Header]] = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


class _News(msgspec.Struct, frozen=True):
    type: str
    id: str = ""
    change: msgspec.Raw = msgspec.Raw(b"ok")


class _Stream(OneWay):
    """Writes what a call reports as events; the response begins with the first of them."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.is_begun = False

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Pass one event on, no faster than the client takes it."""
        news = msgspec.json.decode(message or "", type=_News)
        if not self.is_begun:
            self.is_begun = True
            await self._send({"type": "http.response.start", "status": 200, "headers": _HEAD})
        await self.write(encode_event(bytes(news.change), news.id or None, news.type))

    async def write(self, chunk: bytes) -> None:
        """Send some of the stream."""
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def end(self) -> None:
        """Send the end of the stream."""
        await self._send({"type": "http.response.body", "body": b""})


@dataclass(slots=True)
class EventStreams:
    """Every event stream that is open."""

    ping_s: float = PING_S
    _open: "set[asyncio.Task[LimenError]]" = field(default_factory=lambda: set[asyncio.Task[LimenError]]())

    @property
    def routes(self) -> tuple[Route, ...]:
        """The one route of this module."""
        return (
            Route(
                method="GET",
                path="/v1/brains/{brain}/events",
                name="followChanges",
                summary="Hear of each change as it happens; with Last-Event-ID, also of those since that event.",
                handle=self.follow,
                resumes=True,
                promises=(
                    Promise(200, "Events `ready`, `change` and `ping`.", {"type": "string"}, "text/event-stream"),
                ),
            ),
        )

    def stop(self) -> None:
        """End every stream; their clients come back with the last id they heard."""
        for task in tuple(self._open):
            task.cancel()

    async def follow(self, ask: Ask) -> None:
        """GET events."""
        args = EventsArgs(brain=ask.brain, after=ask.visit.header(b"last-event-id"), quiet_s=self.ping_s)
        stream = _Stream(ask.visit.send)
        task = await self._serve(ask, _follow(ask, args, stream))
        failed = None if task.cancelled() else task.result()
        if not stream.is_begun:
            raise failed or Overloaded("the hub is shutting down")
        if failed is not None:
            await stream.write(encode_event(msgspec.json.encode(problem_of(failed)), event="error"))
        await stream.end()

    async def _serve(self, ask: Ask, work: Coroutine[Any, Any, LimenError]) -> "asyncio.Task[LimenError]":
        # A task of its own, so that a client who leaves ends the call and nothing else.
        async with asyncio.TaskGroup() as group:
            task = group.create_task(work)
            self._open.add(task)
            task.add_done_callback(self._open.discard)
            remove = ask.visit.line.on_close(task.cancel)
            task.add_done_callback(lambda _: remove())
        return task


async def _follow(ask: Ask, args: EventsArgs, stream: _Stream) -> LimenError:
    try:
        await ask.road.operate("events_open", args, msgspec.Raw, exchange=stream)
    except LimenError as error:
        return error
    return ChannelClosed("the changes came to an end")
