"""One run of a program: a fresh child without input, its output kept up to a limit, its whole tree gone at the end."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import IO, Final

from msgspec import Struct

from limen.clock import monotonic
from limen.errors import Unreachable
from limen.transport.process import ChildCommand, spawn
from limen.transport.tree import Member, find_tree, is_alive, send_signal, started_at

__all__ = ["Captured", "Finished", "run_program"]

log = logging.getLogger(__name__)

LAST_WORDS_S: Final = 0.2
"""How long output may still come after the child has ended; a descendant may hold the pipe open for ever."""
TERM_GRACE_S: Final = 1.0
"""How long the tree may take to clean up after SIGTERM."""
KILL_GRACE_S: Final = 1.0
_POLL_S: Final = 0.02
_BLOCK: Final = 65_536
_IS_LINUX: Final = sys.platform == "linux"


class Captured(Struct, frozen=True):
    """What was kept of a stream, and how much there was."""

    data: bytes
    total_bytes: int

    @property
    def is_cut(self) -> bool:
        """Whether something is missing."""
        return self.total_bytes > len(self.data)


class Finished(Struct, frozen=True):
    """How a run ended."""

    status: int | None
    """The exit status, negative for the signal that ended it; None when it was stopped at its deadline."""
    stdout: Captured
    """Its beginning."""
    stderr: Captured
    """Its end."""


async def run_program(command: ChildCommand, *, timeout_s: float, stdout_bytes: int, stderr_bytes: int) -> Finished:
    """Run a program to its end or its deadline. Cancellation ends it too, and waits until it has.

    Raises:
        Unreachable: it cannot be started.
    """
    async with _open_run(command, stdout_bytes, stderr_bytes) as run:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await run.exited.wait()
        # What happens from here on is our doing.
        status = run.status if run.exited.is_set() else None
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_S if status is not None else 0):
                await run.stdout.ended.wait()
                await run.stderr.ended.wait()
    return Finished(status, run.stdout.captured(), run.stderr.captured())


@asynccontextmanager
async def _open_run(command: ChildCommand, stdout_bytes: int, stderr_bytes: int) -> AsyncGenerator["_Run"]:
    # In the loop's own thread: the leash of a child is tied to the thread that started it.
    process, mark = spawn(command)
    try:
        run = _Run(process, mark, stdout_bytes, stderr_bytes)
    except OSError as error:
        process.kill()
        process.wait()
        raise Unreachable(f"cannot watch {command.argv[0]}: {error}", command=command.argv[0]) from error
    try:
        yield run
    finally:
        try:
            await run.end()
        finally:
            run.close()


class _Run:
    """A child and everything it started."""

    def __init__(self, process: "subprocess.Popen[bytes]", mark: str, stdout_bytes: int, stderr_bytes: int) -> None:
        self.exited = asyncio.Event()
        self.stdout = _Collector(process.stdout, stdout_bytes)
        self.stderr = _Collector(process.stderr, stderr_bytes, keeps_end=True)
        self._process = process
        self._mark = mark
        self._root = Member(process.pid, started_at(process.pid))
        self._loop = asyncio.get_running_loop()
        self._handle: int | None = None
        if process.stdin is not None:
            process.stdin.close()
        self._watch()

    @property
    def status(self) -> int | None:
        return self._process.returncode

    def _watch(self) -> None:
        if _IS_LINUX:
            self._handle = os.pidfd_open(self._process.pid)
            self._loop.add_reader(self._handle, self._note_exit)
        else:
            # A thread per child, only where the kernel gives nothing to wait on.
            waiting = self._loop.run_in_executor(None, self._process.wait)
            waiting.add_done_callback(lambda _: self._note_exit())

    def _note_exit(self) -> None:
        self._unwatch()
        self._process.wait()
        self.exited.set()

    def _unwatch(self) -> None:
        if self._handle is not None:
            self._loop.remove_reader(self._handle)
            os.close(self._handle)
            self._handle = None

    def close(self) -> None:
        """Let go of the pipes."""
        self.stdout.close()
        self.stderr.close()

    async def end(self) -> None:
        """SIGTERM to whatever is left of the tree, a moment to clean up, then SIGKILL."""
        try:
            tree = await asyncio.to_thread(find_tree, self._root, self._mark)
            if tree or not self.exited.is_set() or not _IS_LINUX:
                self._signal(signal.SIGTERM, tree)
                await self._wait_until_gone(tree, TERM_GRACE_S)
                tree = await asyncio.to_thread(find_tree, self._root, self._mark, tree)
                self._signal(signal.SIGKILL, tree)
                if not await self._wait_until_gone(tree, KILL_GRACE_S):
                    log.error("processes of a program outlived SIGKILL", extra={"pids": [it.pid for it in tree]})
        except asyncio.CancelledError:
            # Whoever cancels the end wants it over, not left undone; SIGKILL needs no patience.
            self._signal(signal.SIGKILL, find_tree(self._root, self._mark))
            raise
        finally:
            self._unwatch()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(KILL_GRACE_S)

    def _signal(self, signum: signal.Signals, tree: set[Member]) -> None:
        # Until the child is reaped its number is certainly its own; later only the tree can tell, where there is one.
        if not _IS_LINUX or not self.exited.is_set():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signum)
        send_signal(tree, signum)

    async def _wait_until_gone(self, tree: set[Member], grace_s: float) -> bool:
        deadline = monotonic() + grace_s
        while monotonic() < deadline:
            if self.exited.is_set() and not any(is_alive(member) for member in tree):
                return True
            await asyncio.sleep(_POLL_S)
        return False


class _Collector:
    """A stream as far as it is wanted; the rest is counted and dropped, so that the writer never waits.

    It reads the pipe itself. uvloop closes a pipe that it was given twice, by its number, and counts on the second
    close to fail; but by then the number may be that of a file another thread has opened. Measured: one start in
    some 1,500 failed with EBADF.
    """

    def __init__(self, stream: IO[bytes] | None, most_bytes: int, *, keeps_end: bool = False) -> None:
        assert stream is not None
        self.ended = asyncio.Event()
        self._stream = stream
        self._most = most_bytes
        self._keeps_end = keeps_end
        self._kept = bytearray()
        self._total = 0
        self._loop = asyncio.get_running_loop()
        os.set_blocking(stream.fileno(), False)
        self._loop.add_reader(stream.fileno(), self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._stream.fileno(), _BLOCK)
        except BlockingIOError:
            return
        if not data:
            self.close()
            return
        self._total += len(data)
        if self._keeps_end:
            self._kept += data
            if len(self._kept) > 2 * self._most:
                del self._kept[: -self._most]
        elif len(self._kept) < self._most:
            self._kept += data[: self._most - len(self._kept)]

    def captured(self) -> Captured:
        return Captured(bytes(self._kept[-self._most :] if self._keeps_end else self._kept), self._total)

    def close(self) -> None:
        """Let go of the pipe; harmless to call twice."""
        if not self._stream.closed:
            self._loop.remove_reader(self._stream.fileno())
            self._stream.close()
        self.ended.set()
