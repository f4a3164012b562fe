"""A child process as a channel: how it is started, what it said on stderr, how its whole tree ends. Starts no shell.

The child runs in a session of its own, with exactly the environment it is given, one mark added
(`LIMEN_CHILD`) by which its descendants are found again.
"""

import asyncio
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from limen.clock import monotonic
from limen.errors import ChannelClosed, Unreachable
from limen.ids import ulid
from limen.redact import redact_text
from limen.transport.lines import LineChannel, WriteSide
from limen.transport.pipes import taken_over
from limen.transport.tree import Member, find_tree, is_alive, send_signal, started_at

__all__ = ["ChildChannel", "ChildCommand", "open_child", "spawn"]

log = logging.getLogger(__name__)

EOF_GRACE_S: Final = 2.0
"""How long a child may take to end by itself once its stdin is closed."""
TERM_GRACE_S: Final = 2.0
"""How long its tree may take to end after SIGTERM."""
KILL_GRACE_S: Final = 1.0
LAST_WORDS_S: Final = 0.2
"""How long output may still come after the child has ended; a descendant may hold the pipe open for ever."""
STDERR_LINES: Final = 50
STDERR_LINE_BYTES: Final = 4096

MARK_NAME: Final = "LIMEN_CHILD"
_POLL_S: Final = 0.02
_IS_LINUX: Final = sys.platform == "linux"


@dataclass(frozen=True, slots=True)
class ChildCommand:
    """What to run: the program with its arguments, its whole environment, where."""

    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: Path | None = None


@asynccontextmanager
async def open_child(command: ChildCommand, limit_bytes: int) -> AsyncGenerator["ChildChannel"]:
    """Start the child; at the end it and everything it started is gone, within some seven seconds at worst.

    Raises:
        Unreachable: it cannot be started.
    """
    channel = await _start(command, limit_bytes)
    try:
        yield channel
    finally:
        await channel.aclose()


async def _start(command: ChildCommand, limit_bytes: int) -> "ChildChannel":
    process, mark = spawn(command)
    try:
        channel = ChildChannel(process, mark, limit_bytes)
        await channel.connect()
    except BaseException:
        process.kill()
        process.wait()
        raise
    return channel


def spawn(command: ChildCommand) -> "tuple[subprocess.Popen[bytes], str]":
    """Start the process with pipes to its three streams; also the mark by which its descendants are found again.

    Raises:
        Unreachable: it cannot be started.
    """
    program, mark = _resolve(command), ulid()
    try:
        # Not the loop's own spawning: uvloop forks, which copies the page tables of the whole hub (8 ms of
        # CPU at 300 MB), while Popen without preexec_fn uses vfork (under 1 ms, whatever the size).
        process = subprocess.Popen(
            [*_leash(), program, *command.argv[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=command.cwd,
            env={**command.env, MARK_NAME: mark},
            close_fds=True,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise Unreachable(f"cannot start {command.argv[0]}: {error}", command=command.argv[0]) from error
    return process, f"{MARK_NAME}={mark}"


def _resolve(command: ChildCommand) -> str:
    name = command.argv[0]
    if os.sep in name:
        path = os.path.join(command.cwd or ".", name)
        found = path if os.access(path, os.X_OK) else None
    else:
        found = shutil.which(name, path=command.env.get("PATH", os.defpath))
    if found is None:
        raise Unreachable(f"there is no program {name!r}; check the command and the PATH given to it", command=name)
    return os.path.abspath(found)


def _leash() -> tuple[str, ...]:
    """The prefix that makes the kernel kill the child when Limen dies, even by kill -9.

    `setpriv` sets that and becomes the program: 0.8 ms, measured. The same call in a preexec_fn would run
    Python between fork and exec of a threaded process and rule out vfork. Where setpriv is missing, only
    the end of its stdin tells the child.
    """
    setpriv = shutil.which("setpriv", path="/usr/bin:/bin") if _IS_LINUX else None
    return (setpriv, "--pdeathsig", "KILL", "--") if setpriv else ()


class ChildChannel(LineChannel):
    """Lines to a child's stdin and from its stdout."""

    def __init__(self, process: "subprocess.Popen[bytes]", mark: str, limit_bytes: int) -> None:
        super().__init__(limit_bytes)
        self._process = process
        self._root = Member(process.pid, started_at(process.pid))
        self._mark = mark
        self._stderr = _Tail()
        self._handle: int | None = None
        self._exited = asyncio.Event()
        self._is_ending = False
        self._ended = asyncio.Event()

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """None while it runs; negative for the signal that ended it."""
        return self._process.poll()

    @property
    def stderr_tail(self) -> tuple[str, ...]:
        """The last lines it wrote to stderr."""
        return self._stderr.lines()

    async def connect(self) -> None:
        """Attach the pipes to the event loop and watch for the child's end."""
        loop, process = self._loop, self._process
        self._watch()
        await loop.connect_read_pipe(lambda: self._stderr, taken_over(process.stderr, "rb", loop))
        await loop.connect_read_pipe(lambda: self, taken_over(process.stdout, "rb", loop))
        await loop.connect_write_pipe(lambda: WriteSide(self), taken_over(process.stdin, "wb", loop))

    def _watch(self) -> None:
        if _IS_LINUX:
            self._handle = os.pidfd_open(self._process.pid)
            self._loop.add_reader(self._handle, self._note_exit)
        else:
            # A thread per child, only where the kernel gives nothing to wait on.
            waiting = self._loop.run_in_executor(None, self._process.wait)
            waiting.add_done_callback(lambda _: self._note_exit())

    def _unwatch(self) -> None:
        if self._handle is not None:
            self._loop.remove_reader(self._handle)
            os.close(self._handle)
            self._handle = None

    def _note_exit(self) -> None:
        self._unwatch()
        self._process.wait()
        self._exited.set()
        self._loop.call_later(LAST_WORDS_S, self.finish)

    def closed(self) -> ChannelClosed:
        """The child is gone, with what it left to say."""
        tail = [redact_text(line) for line in self.stderr_tail]
        return ChannelClosed("the server process has ended", exit_status=self.exit_status, stderr_tail=tail)

    async def aclose(self) -> None:
        """Close its stdin, wait, SIGTERM its whole tree, wait, SIGKILL what is left."""
        if self._is_ending:
            await self._ended.wait()
            return
        self._is_ending = True
        try:
            await self._end_tree()
        except asyncio.CancelledError:
            # Whoever cancels a close wants it over, not left undone; SIGKILL needs no patience.
            self._signal(signal.SIGKILL, find_tree(self._root, self._mark))
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(KILL_GRACE_S)
            raise
        finally:
            self._release()
            self._ended.set()

    async def _end_tree(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(EOF_GRACE_S):
                await self.close_sink()
                await self._exited.wait()
        tree = await self._find_tree()
        if self._is_gone(tree):
            return
        self._signal(signal.SIGTERM, tree)
        await self._wait_until_gone(tree, TERM_GRACE_S)
        # A process may fork between being found and being killed, hence more than one round.
        deadline = monotonic() + KILL_GRACE_S
        while monotonic() < deadline:
            tree = await self._find_tree(tree)
            if self._is_gone(tree):
                return
            self._signal(signal.SIGKILL, tree)
            await self._wait_until_gone(tree, _POLL_S)
        log.error("processes of a server outlived SIGKILL", extra={"pids": [member.pid for member in tree]})

    async def _find_tree(self, known: set[Member] | None = None) -> set[Member]:
        return await asyncio.to_thread(find_tree, self._root, self._mark, known or ())

    def _signal(self, signum: signal.Signals, tree: set[Member]) -> None:
        # Until the child is reaped its number is certainly its own; later only the tree can tell.
        if not _IS_LINUX or not self._exited.is_set():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signum)
        send_signal(tree, signum)

    async def _wait_until_gone(self, tree: set[Member], grace_s: float) -> None:
        deadline = monotonic() + grace_s
        while monotonic() < deadline:
            if self._is_gone({member for member in tree if is_alive(member)}):
                return
            await asyncio.sleep(_POLL_S)

    def _is_gone(self, tree: set[Member]) -> bool:
        return self._exited.is_set() and not tree and (_IS_LINUX or not _is_group(self._process.pid))

    def _release(self) -> None:
        if self._sink is not None and not self._is_sink_lost:
            self._sink.abort()
        if self._reader is not None:
            self._reader.close()
        self._stderr.close()
        self._unwatch()
        self.finish()


def _is_group(number: int) -> bool:
    try:
        os.killpg(number, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


class _Tail(asyncio.Protocol):
    """The last lines of a stream, and no more memory than they take."""

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque(maxlen=STDERR_LINES)
        self._rest = b""
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *lines, rest = (self._rest + data).split(b"\n")
        self._lines.extend(line[:STDERR_LINE_BYTES] for line in lines)
        self._rest = rest[:STDERR_LINE_BYTES]

    def lines(self) -> tuple[str, ...]:
        kept = [*self._lines, self._rest] if self._rest else [*self._lines]
        return tuple(line.decode(errors="replace").rstrip() for line in kept[-STDERR_LINES:])

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
