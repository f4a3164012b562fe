"""Texts in files that are read in pages of characters, in a folder that nobody else uses and that outlives nobody.

Blocking; whoever serves callers calls it from a thread.
"""

import fcntl
import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_urlsafe
from typing import Final

from msgspec import Struct

__all__ = ["OwnFolder", "PagedText", "clear_abandoned"]

log = logging.getLogger(__name__)

STEP_CHARS: Final = 1 << 16
"""How many characters lie between two places that can be found without reading what stands before them."""


class PagedText(Struct, frozen=True):
    """A text in a file, and where in the file every so many characters begin."""

    path: Path
    chars: int
    marks: Sequence[int]
    """The first byte of each step; at the end the size."""

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self.marks[-1]

    @classmethod
    def write(cls, path: Path, text: str) -> "PagedText":
        """Keep a text in a new file that only this user can read.

        Raises:
            OSError: it cannot be kept; nothing is left of it.
        """
        marks = [0]
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                # Step by step, so that other threads get their turn in between.
                for start in range(0, len(text), STEP_CHARS):
                    marks.append(marks[-1] + file.write(text[start : start + STEP_CHARS].encode()))
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return cls(path, len(text), marks)

    def read(self, offset: int, limit: int) -> str:
        """So many characters from there on; fewer at the end.

        Raises:
            OSError: the file is gone.
        """
        first, end = offset // STEP_CHARS, min(offset + limit, self.chars)
        if end <= offset:
            return ""
        begin, stop = self.marks[first], self.marks[-(-end // STEP_CHARS)]
        with self.path.open("rb") as file:
            file.seek(begin)
            found = file.read(stop - begin).decode()
        return found[offset - first * STEP_CHARS : end - first * STEP_CHARS]


class OwnFolder:
    """A folder of this process alone, made when it is first needed. A lock tells others that somebody uses it."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._held: tuple[Path, int] | None = None

    @property
    def is_made(self) -> bool:
        """Whether there is one."""
        return self._held is not None

    def get(self) -> Path:
        """Where it is.

        Raises:
            OSError: it cannot be made.
        """
        if self._held is None:
            self._held = self._make()
        return self._held[0]

    def _make(self) -> tuple[Path, int]:
        self._parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        while True:
            path = self._parent / token_urlsafe(9)
            path.mkdir(mode=0o700)
            descriptor = _lock(path)
            if descriptor is None:
                continue
            if path.exists():
                return path, descriptor
            # Somebody who cleared up came between its making and its locking.
            os.close(descriptor)

    def remove(self) -> None:
        """Remove it with all that is in it."""
        if self._held is not None:
            path, descriptor = self._held
            self._held = None
            _remove(path)
            os.close(descriptor)


def clear_abandoned(parent: Path) -> None:
    """Remove the folders of processes that are gone."""
    for path in parent.iterdir():
        try:
            descriptor = _lock(path)
        except OSError as error:
            log.warning("left behind in the cache", extra={"path": str(path), "reason": str(error)})
            continue
        if descriptor is not None:
            _remove(path)
            os.close(descriptor)


def _remove(folder: Path) -> None:
    # There are only files in it; what the standard library has for whole trees takes milliseconds to import.
    try:
        for path in folder.iterdir():
            path.unlink(missing_ok=True)
        folder.rmdir()
    except OSError as error:
        log.warning("left behind in the cache", extra={"path": str(folder), "reason": str(error)})


def _lock(path: Path) -> int | None:
    """Hold a folder; None when somebody else does, or when it is gone."""
    with suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        else:
            return descriptor
    return None
