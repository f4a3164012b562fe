"""A bounded one-way queue of frames with an end; never drops one and never grows past its bound."""

import asyncio
from collections import deque
from typing import Generic, TypeVar

from limen.errors import ChannelClosed, LimenError

__all__ = ["Lane"]

Item = TypeVar("Item")


class Lane(Generic[Item]):
    """One reader, any number of writers. An error put in is raised to the reader, in its place."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._items: deque[Item | LimenError] = deque()
        self._reader: asyncio.Future[None] | None = None
        self._waiting: deque[tuple[Item | LimenError, asyncio.Future[None]]] = deque()
        self._is_ended = False

    async def put(self, item: Item | LimenError) -> None:
        """Add one at the end; waits while the lane is full.

        Raises:
            ChannelClosed: the lane has ended.
        """
        if self._is_ended:
            raise ChannelClosed("the other side has closed the channel")
        if len(self._items) < self._capacity:
            self._items.append(item)
            _wake(self._reader)
        else:
            await self._wait_in_line(item)

    async def _wait_in_line(self, item: Item | LimenError) -> None:
        # The reader moves the item in and only then wakes its writer, so nobody overtakes.
        place = item, asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place[1]
        finally:
            if place in self._waiting:
                self._waiting.remove(place)

    async def get(self) -> Item | None:
        """The next frame; None once the lane has ended and is empty."""
        while not self._items:
            if self._is_ended:
                return None
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        item = self._items.popleft()
        self._admit_next()
        if isinstance(item, LimenError):
            raise item
        return item

    def _admit_next(self) -> None:
        while self._waiting:
            item, turn = self._waiting.popleft()
            if not turn.done():
                self._items.append(item)
                turn.set_result(None)
                return

    def end(self) -> None:
        """No more frames; what waits is still handed out, writers are refused."""
        self._is_ended = True
        _wake(self._reader)
        while self._waiting:
            _, turn = self._waiting.popleft()
            if not turn.done():
                turn.set_exception(ChannelClosed("the other side has closed the channel"))


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)
