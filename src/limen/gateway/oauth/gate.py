"""A file that one holder at a time has locked, over all processes of this machine; it goes with its process."""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from limen.clock import monotonic
from limen.errors import StoreUnavailable

__all__ = ["open_gate"]

_PAUSE_S: Final = 0.02


@contextmanager
def open_gate(path: Path, *, patience_s: float) -> Generator[None]:
    """Hold the lock on `path`, which is made if need be. Blocks: enter it in a thread.

    Raises:
        StoreUnavailable: the file cannot be opened, or somebody held it for longer than `patience_s`.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreUnavailable(f"cannot open {path}: {error.strerror}", path=str(path)) from error
    try:
        _lock(descriptor, path, monotonic() + patience_s)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() > deadline:
                raise StoreUnavailable(f"another process holds {path}; try again", path=str(path)) from None
            time.sleep(_PAUSE_S)
        else:
            return
