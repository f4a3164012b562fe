"""The files of a brain, reached beneath its root and never through a symbolic link; knows nothing of the journal.

A file is written under a name of its own in `.limen/tmp` and renamed into place, so that nobody ever sees half of it.
"""

import errno
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct

from limen.errors import StoreUnavailable

__all__ = ["OWN", "Folder", "Seen", "make_folder", "stamp_of"]

OWN = ".limen"
_TEMPS = f"{OWN}/tmp"
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK the open of a FIFO would wait for a writer.
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_TRIES = 5


class Seen(Struct, frozen=True):
    """What lies at a path; `blocked` when something that is no folder lies above it, at `at`."""

    kind: Literal["file", "absent", "folder", "link", "other", "blocked"]
    stamp: str = ""
    mode: int = 0
    at: str = ""


ABSENT = Seen("absent")


def stamp_of(found: os.stat_result) -> str:
    """By what a file is known to be the one we saw: inode, size and time of change."""
    return f"{found.st_ino}:{found.st_size}:{found.st_mtime_ns}"


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, so that a power cut does not undo it.

    Raises:
        OSError: it cannot be made.
    """
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    above = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(above)
    finally:
        os.close(above)


class Folder:
    """The root of a brain, held open."""

    def __init__(self, root: Path) -> None:
        try:
            self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise StoreUnavailable(f"the brain's folder cannot be opened: {error}") from error
        self._temps = -1
        try:
            self._temps = self._open_temps()
        except BaseException:
            self.close()
            raise

    @property
    def is_writable(self) -> bool:
        """Whether the disk takes writes, and takes them from us."""
        if self._temps < 0 or os.fstatvfs(self._temps).f_flag & os.ST_RDONLY:
            return False
        return os.access(OWN, os.W_OK, dir_fd=self._root)

    def close(self) -> None:
        """Let go of it."""
        for held in (self._root, self._temps):
            if held >= 0:
                os.close(held)
        self._root = self._temps = -1

    def look(self, path: str) -> Seen:
        """What lies at a path, which is not followed if it is a link."""
        try:
            with self._parent(path) as (folder, name):
                return _seen(os.stat(name, dir_fd=folder, follow_symlinks=False))
        except FileNotFoundError:
            return ABSENT
        except _Blocked as blocked:
            return Seen("blocked", at=blocked.at)

    def read(self, path: str) -> tuple[bytes, str] | None:
        """The content of a file and its stamp, or None when no file lies there.

        Raises:
            OSError: it is there and cannot be read.
        """
        try:
            with self._parent(path) as (folder, name):
                file = os.open(name, _OPEN_FILE, dir_fd=folder)
        except (FileNotFoundError, _Blocked):
            return None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):
                return None
            raise
        before = os.fstat(file)
        if not stat.S_ISREG(before.st_mode):
            os.close(file)
            return None
        with os.fdopen(file, "rb", buffering=0) as opened:
            content = opened.readall()
            for _ in range(_READ_TRIES):
                after = os.fstat(file)
                if stamp_of(after) == stamp_of(before):
                    break
                # An editor is writing into it right now.
                before = after
                opened.seek(0)
                content = opened.readall()
            return content, stamp_of(before)

    def write_temp(self, temp: str, content: bytes, mode: int = 0) -> str:
        """Write a file that waits to be placed; returns the stamp it will have there.

        Raises:
            OSError: there is no room for it, or the disk takes no writes.
        """
        file = os.open(temp, _NEW_FILE, 0o666, dir_fd=self._temps)
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(file, rest) :]
            if mode:
                os.fchmod(file, stat.S_IMODE(mode))
            return stamp_of(os.fstat(file))
        finally:
            os.close(file)

    def is_waiting(self, temp: str) -> bool:
        """Whether a file still waits to be placed."""
        try:
            os.stat(temp, dir_fd=self._temps, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def place(self, temp: str, path: str) -> None:
        """Move a waiting file to its path, over whatever file is there.

        Raises:
            OSError: that cannot be done now.
        """
        with self._parent(path, create=True) as (folder, name):
            try:
                os.rename(temp, name, src_dir_fd=self._temps, dst_dir_fd=folder)
            except IsADirectoryError:
                # Empty ones say nothing; one that is not makes this fail.
                self._clear(path)
                os.rename(temp, name, src_dir_fd=self._temps, dst_dir_fd=folder)

    def remove(self, path: str) -> None:
        """Take a file away, and the folders above it that are empty then.

        Raises:
            OSError: that cannot be done now.
        """
        try:
            with self._parent(path) as (folder, name):
                os.unlink(name, dir_fd=folder)
        except (FileNotFoundError, _Blocked):
            return
        above = path
        with suppress(OSError):
            while "/" in above:
                above = above.rpartition("/")[0]
                with self._parent(above) as (folder, name):
                    os.rmdir(name, dir_fd=folder)

    def is_vacant(self, folder: str, gone: set[str]) -> bool:
        """Whether a folder holds nothing once the files that are `gone` are."""
        with self.open_folder(folder) as opened, os.scandir(opened) as entries:
            return all(
                self.is_vacant(path, gone) if entry.is_dir(follow_symlinks=False) else path in gone
                for entry in entries
                if (path := f"{folder}/{entry.name}")
            )

    def drop(self, temp: str) -> None:
        """Throw a waiting file away."""
        with suppress(OSError):
            os.unlink(temp, dir_fd=self._temps)

    def temps(self) -> Sequence[str]:
        """Every file that waits, or was left behind."""
        return os.listdir(self._temps)

    def sync(self, path: str) -> None:
        """Have the disk keep what a file holds, if it is there."""
        try:
            with self._parent(path) as (folder, name):
                file = os.open(name, _OPEN_FILE, dir_fd=folder)
        except (FileNotFoundError, _Blocked):
            return
        try:
            os.fsync(file)
        finally:
            os.close(file)

    def sync_folder(self, folder: str) -> None:
        """Have the disk keep which names a folder holds, if it is there; the root's name is empty."""
        try:
            with self.open_folder(folder) as opened:
                os.fsync(opened)
        except (FileNotFoundError, _Blocked):
            return

    @contextmanager
    def open_folder(self, folder: str) -> Generator[int]:
        """A descriptor of a folder beneath the root, or of the root itself."""
        if not folder:
            yield self._root
            return
        with self._parent(f"{folder}/.") as (opened, _):
            yield opened

    @contextmanager
    def _parent(self, path: str, *, create: bool = False) -> Generator[tuple[int, str]]:
        *above, name = path.split("/")
        folder = self._root
        try:
            for depth, segment in enumerate(above):
                try:
                    deeper = _open_folder(segment, folder, create=create)
                except OSError as error:
                    if error.errno in (errno.ENOTDIR, errno.ELOOP):
                        raise _Blocked("/".join(above[: depth + 1])) from error
                    raise
                if folder != self._root:
                    os.close(folder)
                folder = deeper
            yield folder, name
        finally:
            if folder != self._root:
                os.close(folder)

    def _clear(self, folder: str) -> None:
        with self.open_folder(folder) as opened, os.scandir(opened) as entries:
            inner = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        for name in inner:
            self._clear(f"{folder}/{name}")
        with self._parent(folder) as (parent, name):
            os.rmdir(name, dir_fd=parent)

    def _open_temps(self) -> int:
        try:
            return _open_folder(_TEMPS, self._root, create=False)
        except FileNotFoundError:
            pass
        try:
            for folder in (OWN, _TEMPS):
                with suppress(FileExistsError):
                    os.mkdir(folder, 0o700, dir_fd=self._root)
            # SQLite syncs the folder of its files; that this folder has a name is ours to see to.
            os.fsync(self._root)
            return _open_folder(_TEMPS, self._root, create=False)
        except OSError as error:
            if error.errno in (errno.EROFS, errno.EACCES):
                return -1
            raise StoreUnavailable(f"the brain's folder .limen cannot be used: {error}") from error


class _Blocked(NotADirectoryError):
    """Something that is no folder lies above a path."""

    def __init__(self, at: str) -> None:
        super().__init__(errno.ENOTDIR, f"{at} is no folder")
        self.at = at


def _open_folder(name: str, parent: int, *, create: bool) -> int:
    try:
        return os.open(name, _OPEN_FOLDER, dir_fd=parent)
    except FileNotFoundError:
        if not create:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=parent)
    return os.open(name, _OPEN_FOLDER, dir_fd=parent)


def _seen(found: os.stat_result) -> Seen:
    if stat.S_ISREG(found.st_mode):
        return Seen("file", stamp_of(found), found.st_mode)
    if stat.S_ISDIR(found.st_mode):
        return Seen("folder")
    return Seen("link" if stat.S_ISLNK(found.st_mode) else "other")
