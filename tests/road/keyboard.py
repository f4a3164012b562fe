"""A person at a terminal: sees what a command writes to stderr, types when asked, and may press Ctrl-C."""

import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.environment import Home

PATIENCE_S = 15.0


class Person:
    """Sits at the terminal that is a command's stdin and stderr; its stdout is a pipe, or that terminal, too."""

    def __init__(self, process: "subprocess.Popen[bytes]", terminal: int) -> None:
        self.process = process
        self._terminal = terminal
        self.seen = ""

    def wait_for(self, words: str) -> None:
        """Read until these words were shown."""
        deadline = time.monotonic() + PATIENCE_S
        while words not in self.seen:
            if time.monotonic() > deadline:
                raise AssertionError(f"never saw {words!r} in {self.seen!r}")
            if not self._read():
                raise AssertionError(f"it ended without {words!r}: {self.seen!r}")

    def type(self, line: str) -> None:
        """Type a line."""
        os.write(self._terminal, f"{line}\n".encode())

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def end(self) -> tuple[int, str]:
        """Wait for the end; the exit code, and what went to stdout."""
        out = self.process.stdout.read().decode() if self.process.stdout else ""
        while self._read():
            pass
        return self.process.wait(), out

    def _read(self) -> bool:
        ready, _, _ = select.select([self._terminal], [], [], 0.1)
        if not ready:
            return self.process.poll() is None
        try:
            data = os.read(self._terminal, 65536)
        except OSError:
            return False
        self.seen += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)


@contextmanager
def sit_down(limen: Path, home: Home, *words: str, sees_stdout: bool = False) -> Generator[Person]:
    """Start a command at a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [limen, *words],
        env={**home.env, "TERM": "xterm", "NO_COLOR": "1"},
        cwd=home.path,
        stdin=theirs,
        stdout=theirs if sees_stdout else subprocess.PIPE,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Person(process, ours)
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()
        os.close(ours)
