"""The lock by which the processes that use one brain write one after another; it ends with its process.

Its file says whether the last writer finished what it began, and since which start of the machine that is so.
"""

import errno
import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Literal

from limen.clock import monotonic
from limen.errors import StoreUnavailable

__all__ = ["Gate", "Left", "boot_id"]

Left = Literal["done", "begun", "unknown"]
"""How the last writer left things: all in place, perhaps not all in place, or the machine has been started since."""

_STATES: dict[Left, bytes] = {"done": b"d", "begun": b"b", "unknown": b"u"}
_LEFT: dict[bytes, Left] = {state: left for left, state in _STATES.items()}
_FIRST_PAUSE_S = 0.0002
_LONGEST_PAUSE_S = 0.005
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """What changes with every start of the machine; empty where nothing tells."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


class Gate:
    """One process's hold on a brain's writer lock."""

    def __init__(self, path: Path, boot: str, patience_s: float) -> None:
        self._boot = boot.encode()
        self._patience_s = patience_s
        self._is_known = False
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _unavailable(error) from error

    @contextmanager
    def hold(self) -> Generator["Held"]:
        """Be the one who writes.

        Raises:
            StoreUnavailable: another process keeps the lock for too long.
        """
        self._lock()
        try:
            held = Held(self._left())
            # Who dies while putting things right after a restart leaves them to be put right again.
            state = _STATES["unknown" if held.left == "unknown" else "begun"]
            os.pwrite(self._file, state + self._boot, 0)
            if held.left == "unknown":
                os.ftruncate(self._file, len(state + self._boot))
            yield held
            if held.is_done:
                os.pwrite(self._file, _STATES["done"], 0)
                self._is_known = True
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _left(self) -> Left:
        said = os.pread(self._file, 256, 0)
        # Where nothing tells one start of the machine from another, the first look is never trusted.
        if said[1:] != self._boot or not (self._boot or self._is_known):
            return "unknown"
        return _LEFT.get(said[:1], "unknown")

    def _lock(self) -> None:
        deadline = monotonic() + self._patience_s
        pause_s = _FIRST_PAUSE_S
        while not _try_lock(self._file):
            if monotonic() >= deadline:
                raise StoreUnavailable("another process has been writing to this brain for too long: try again later")
            sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)


class Held:
    """The lock while it is held."""

    __slots__ = ("is_done", "left")

    def __init__(self, left: Left) -> None:
        self.left: Left = left
        self.is_done = False
        """Set by the holder when everything that was committed is in place."""


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise _unavailable(error) from error
    return True


def _unavailable(error: OSError) -> StoreUnavailable:
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return StoreUnavailable("the brain's folder takes no writes: mount it writable or mend its permissions")
    return StoreUnavailable(f"the brain's writer lock cannot be used: {error}")
