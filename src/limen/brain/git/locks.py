"""Git's lock files, taken so that one left by a killed Limen is known as ours, and a stranger's is left alone.

The content is written to a file of our own first, and that file is linked to the lock's name. As long as both
names mean one file the lock is ours, whoever asks; nobody has to guess by age or by process id.
"""

import logging
import os
import time
from pathlib import Path

__all__ = ["FileLock", "LockHeld", "replace_file", "sync_folder"]

log = logging.getLogger(__name__)


class LockHeld(Exception):
    """Another program holds the lock; `age_s` tells for how long."""

    def __init__(self, path: Path, age_s: float) -> None:
        super().__init__(f"{path.name} is held")
        self.path = path
        self.age_s = age_s


class FileLock:
    """The lock of one of git's files; the file is replaced by `commit`, or stays as it was."""

    def __init__(self, target: Path, proof: Path) -> None:
        self._target = target
        self._lock = target.with_name(target.name + ".lock")
        self._proof = proof

    def clear_own(self) -> None:
        """Take away what a killed Limen left; only the elected committer may ask."""
        try:
            if self._proof.samefile(self._lock):
                self._lock.unlink()
                log.info("took away our own lock of a killed process", extra={"lock": self._lock.name})
        except FileNotFoundError:
            pass
        self._proof.unlink(missing_ok=True)

    def acquire(self, data: bytes, *, durable: bool, stale_after_s: float | None = None) -> None:
        """Take the lock, with what the file is to hold.

        Raises:
            LockHeld: somebody else has it, and not for `stale_after_s` yet.
        """
        self.clear_own()
        _write_new(self._proof, data, durable=durable)
        self._lock.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._link(data, durable=durable)
        except FileExistsError:
            age = _age_of(self._lock)
            if stale_after_s is None or age < stale_after_s:
                raise LockHeld(self._lock, age) from None
            log.warning("took away a lock that a killed git left", extra={"lock": self._lock.name, "age_s": int(age)})
            self._lock.unlink(missing_ok=True)
            self._link(data, durable=durable)

    def commit(self, *, durable: bool) -> None:
        """The file now holds what was given, and the lock is free."""
        self._lock.replace(self._target)
        self._proof.unlink(missing_ok=True)
        if durable:
            sync_folder(self._target.parent)

    def release(self) -> None:
        """The file stays as it was, and the lock is free."""
        self._lock.unlink(missing_ok=True)
        self._proof.unlink(missing_ok=True)

    def _link(self, data: bytes, *, durable: bool) -> None:
        try:
            os.link(self._proof, self._lock)
        except FileExistsError:
            raise
        except OSError:
            # A file system without links: the lock of a killed process then waits until it counts as stale.
            _write_new(self._lock, data, durable=durable)


def replace_file(path: Path, data: bytes, draft: Path, *, durable: bool) -> None:
    """Write a file that needs no lock, whole or not at all; the draft lies where git does not look."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft.unlink(missing_ok=True)
    _write_new(draft, data, durable=durable)
    draft.replace(path)
    if durable:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_new(path: Path, data: bytes, *, durable: bool) -> None:
    # Never into a file that is there: it may have become git's own file by a rename.
    with open(path, "xb") as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())


def _age_of(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
