"""Reads a file in a child process, so that a crash, an endless page or a hunger for memory fails one file."""

import logging
import math
import sys
from collections.abc import Callable, Mapping
from threading import BoundedSemaphore
from typing import Any, Final

import msgspec

from limen.brain.ingest.confined import MEMORY_BYTES
from limen.brain.ingest.limits import Budget
from limen.clock import monotonic
from limen.errors import FileTooLarge, RequestTimeout, TooLarge, Unreadable
from limen.transport.errand import run_child
from limen.transport.process import ChildCommand

__all__ = ["read_apart"]

log = logging.getLogger(__name__)

AT_ONCE: Final = 4
"""Children of this kind; each may take as much memory as a child may."""
_turns: Final = BoundedSemaphore(AT_ONCE)
_BYTES_PER_CHAR: Final = 6
"""Of a text as JSON; what is shorter to write leaves room for the rest of the message."""


def read_apart(module: str, content: bytes, budget: Budget, on_message: Callable[[Mapping[str, Any]], None]) -> None:
    """Give the file to a child that runs this module, and hand on each message it tells.

    Raises:
        Unreadable: the child crashed, or did not end in time.
        FileTooLarge: there is too much in the file.
    """
    begun = monotonic()
    with _turns:
        # Waiting for other files is none of this file's time.
        budget.deadline += monotonic() - begun
        budget.check_time()
        left_s = budget.deadline - monotonic()
        command = ChildCommand([sys.executable, "-I", "-m", module, str(math.ceil(left_s) + 1)])
        try:
            ended = run_child(
                command,
                content,
                deadline_s=left_s,
                most_bytes=budget.most_chars * _BYTES_PER_CHAR + 2**20,
                on_line=lambda line: on_message(msgspec.json.decode(line)),
            )
        except RequestTimeout as error:
            raise budget.late() from error
        except TooLarge as error:
            raise FileTooLarge(f"{budget.name!r}: there is more text in it than is taken in; split the file") from error
    if ended.status != 0:
        log.warning("a reader crashed", extra={"reader": module, "status": ended.status, "stderr": ended.stderr})
        raise Unreadable(
            f"{budget.name!r}: the reader crashed on this file, which is damaged, made to do harm, or needs more than"
            f" {MEMORY_BYTES // 2**20} MiB of memory; open it and save it anew",
            field="path",
            status=ended.status,
        )
