"""A child that is sent on one errand: bytes in, lines out, gone with its whole tree by a deadline. Blocks its thread.

For work that may crash or never end and must do so in a process of its own; servers are `process.open_child`'s.
"""

import os
import selectors
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Final

from limen.clock import monotonic
from limen.errors import RequestTimeout, TooLarge
from limen.transport.process import ChildCommand, spawn
from limen.transport.tree import Member, find_tree, send_signal, started_at

__all__ = ["Ended", "run_child"]

STDERR_BYTES: Final = 8192
_BLOCK: Final = 65_536


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended by itself."""

    status: int
    """Its exit status; negative for the signal that ended it."""
    stderr: str
    """The end of what it wrote there."""


def run_child(
    command: ChildCommand, given: bytes, *, deadline_s: float, most_bytes: int, on_line: Callable[[bytes], None]
) -> Ended:
    """Run a program to its end; each line of its stdout is told as it comes. An error of `on_line` ends it at once.

    Raises:
        Unreachable: it cannot be started.
        RequestTimeout: it has not ended in time.
        TooLarge: it wrote more than `most_bytes`.
    """
    deadline = monotonic() + deadline_s
    process, mark = spawn(command)
    root = Member(process.pid, started_at(process.pid))
    try:
        talk = _Talk(process, given, most_bytes, on_line)
        talk.run(deadline)
        status = process.wait(max(0.0, deadline - monotonic()))
    except subprocess.TimeoutExpired as error:
        raise _late() from error
    finally:
        _end(process, root, mark)
    return Ended(status, talk.stderr.decode(errors="replace"))


def _end(process: "subprocess.Popen[bytes]", root: Member, mark: str) -> None:
    """Kill what is left, before the number of the child can be anybody else's."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    send_signal(find_tree(root, mark), signal.SIGKILL)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    process.wait()


class _Talk:
    """Everything that is said between the two, until the child has nothing more to say."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        given: bytes,
        most_bytes: int,
        on_line: Callable[[bytes], None],
    ) -> None:
        self.stderr = b""
        self._given = memoryview(given)
        self._left = most_bytes
        self._on_line = on_line
        self._begun: list[bytes] = []
        """The pieces of a line whose end has not come."""
        self._selector = selectors.DefaultSelector()
        for stream, events, on_ready in (
            (process.stdin, selectors.EVENT_WRITE, self._write),
            (process.stdout, selectors.EVENT_READ, self._read),
            (process.stderr, selectors.EVENT_READ, self._read_stderr),
        ):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, events, on_ready)

    def run(self, deadline: float) -> None:
        with self._selector as selector:
            while selector.get_map():
                left = deadline - monotonic()
                if left <= 0:
                    raise _late()
                for key, _ in selector.select(left):
                    stream: IO[bytes] = key.fileobj  # pyright: ignore[reportAssignmentType] - as it was registered
                    key.data(stream)

    def _write(self, stream: IO[bytes]) -> None:
        try:
            written = os.write(stream.fileno(), self._given[:_BLOCK])
        except BlockingIOError:
            return
        except BrokenPipeError:
            # It needs no more; what it made of that, its output and its exit status tell.
            written = len(self._given)
        self._given = self._given[written:]
        if not self._given:
            self._selector.unregister(stream)
            stream.close()

    def _read(self, stream: IO[bytes]) -> None:
        block = os.read(stream.fileno(), _BLOCK)
        self._left -= len(block)
        if self._left < 0:
            raise TooLarge("the child wrote more than it may")
        *whole, rest = block.split(b"\n")
        for line in whole:
            self._on_line(b"".join((*self._begun, line)))
            self._begun.clear()
        if rest:
            self._begun.append(rest)
        if not block:
            self._selector.unregister(stream)
            if self._begun:
                self._on_line(b"".join(self._begun))

    def _read_stderr(self, stream: IO[bytes]) -> None:
        block = os.read(stream.fileno(), _BLOCK)
        self.stderr = (self.stderr + block)[-STDERR_BYTES:]
        if not block:
            self._selector.unregister(stream)


def _late() -> RequestTimeout:
    return RequestTimeout("the child has not ended in time")
