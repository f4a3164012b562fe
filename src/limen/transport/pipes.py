"""Hands a pipe over to the event loop, so that it is closed exactly once.

uvloop closes the descriptor and then the file object, which closes the same number again. Between the two another
thread may have opened something under that number, a database for instance. So its file object closes nothing.
"""

import asyncio
import os
from io import FileIO
from typing import IO

__all__ = ["lent", "taken_over"]


def lent(descriptor: int, mode: str, loop: asyncio.AbstractEventLoop) -> FileIO:
    """A file object for `connect_read_pipe` or `connect_write_pipe`; the loop owns the descriptor from here on."""
    closes_itself = type(loop).__module__.partition(".")[0] == "uvloop"
    return FileIO(descriptor, mode, closefd=not closes_itself)


def taken_over(pipe: IO[bytes] | None, mode: str, loop: asyncio.AbstractEventLoop) -> FileIO:
    """The same for a pipe that somebody else's file object holds, which is closed."""
    assert pipe is not None
    descriptor = os.dup(pipe.fileno())
    pipe.close()
    return lent(descriptor, mode, loop)
