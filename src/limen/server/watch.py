"""Keeps an eye on a request that is answered in its own task, and writes its response when it has to wait.

Most requests are answered without ever waiting, and then this does nothing. When one waits, a second task takes over
the response: it streams what the request has to say, or keeps a quiet connection alive.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from limen.server.events import FirstSign, Reader

__all__ = ["Spawn", "Stream", "Watch"]

Spawn = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]


class Stream(Protocol):
    """Where one request's messages go; nothing is opened before there is something to say."""

    on_open: Callable[[], None] | None

    @property
    def is_open(self) -> bool:
        """Whether the answer is an event stream by now."""
        ...

    def open(self) -> Reader:
        """From here on the answer is an event stream, and this is what its response reads from."""
        ...


class Watch:
    """One request's response, from the moment its answering begins."""

    __slots__ = ("_is_over", "_quiet_s", "_sign", "_spawn", "_stream", "_task", "_write")

    def __init__(
        self, stream: Stream, spawn: Spawn, write: Callable[[Reader], Awaitable[None]], quiet_s: float
    ) -> None:
        self._stream = stream
        self._spawn = spawn
        self._write = write
        self._quiet_s = quiet_s
        self._is_over = False
        self._sign: FirstSign | None = None
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """The request has to wait."""
        self._sign = FirstSign(self._quiet_s)
        self._stream.on_open = self._sign.wake
        if self._stream.is_open:
            self._sign.wake()
        self._task = self._spawn(self._run(self._sign))

    async def _run(self, sign: FirstSign) -> None:
        await sign.wait()
        if self._stream.is_open or not self._is_over:
            await self._write(self._stream.open())

    async def finish(self) -> bool:
        """The request is answered: see its stream written to the end, if it has one. Whether it had."""
        if self._task is not None and self._sign is not None:
            self._is_over = True
            self._sign.wake()
            await self._task
        elif self._stream.is_open:
            await self._write(self._stream.open())
        return self._stream.is_open

    def drop(self) -> None:
        """Nobody will answer this request."""
        if self._task is not None:
            self._task.cancel()
