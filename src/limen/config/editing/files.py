"""Reads a file that belongs to somebody, and replaces it whole: at once, with its mode, and with what it was kept.

What was there is kept beside the file, in a name that ends in the digest of what was written. So it can be told later
whether anybody has changed the file since, and if not, the file can be what it was to the byte.
"""

import hashlib
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct, structs

from limen.config.syntax import MOST_CHARACTERS
from limen.errors import ConfigInvalid, Conflict
from limen.ids import ulid

__all__ = ["FileState", "Kept", "find_kept", "keep", "missing_folders", "read_state", "restore", "write_state"]

PRIVATE: Final = 0o600
"""The mode of files that Limen makes: tokens end up in such files."""
# A pipe in the place of a file must not keep us waiting; Windows has neither the pipes nor the flag.
_NO_WAIT: Final[int] = getattr(os, "O_NONBLOCK", 0)
_NONE: Final = ".none"
_COPY: Final = ".copy"


class FileState(Struct, frozen=True):
    """A file as it was found; `path` is where it really is, whatever links lead there. `data` is None without one."""

    path: Path
    data: bytes | None
    mode: int = PRIVATE

    @property
    def text(self) -> str:
        """What it says; nothing for a file that is not there.

        Raises:
            ConfigInvalid: it is not UTF-8.
        """
        try:
            return (self.data or b"").decode()
        except UnicodeDecodeError as error:
            line = (self.data or b"").count(b"\n", 0, error.start) + 1
            raise ConfigInvalid(f"{self.path}:{line}: not UTF-8", fix="save it as UTF-8", file=str(self.path)) from None


class Kept(Struct, frozen=True):
    """What a file was before it was changed; `data` is None when there was none, and `folders` were made for it."""

    path: Path
    data: bytes | None
    mode: int
    folders: tuple[Path, ...] = ()


def read_state(path: Path) -> FileState:
    """The file as it is now.

    Raises:
        ConfigInvalid: it cannot be read, or is no file.
    """
    try:
        target = path.resolve()
        with open(os.open(target, os.O_RDONLY | _NO_WAIT), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_CHARACTERS:
                raise _unreadable(path, f"it is no file, or larger than {MOST_CHARACTERS >> 20} MiB")
            return FileState(target, file.read(), stat.S_IMODE(found.st_mode))
    except (FileNotFoundError, NotADirectoryError):
        return FileState(path.resolve(), None)
    except (OSError, RuntimeError) as error:
        raise _unreadable(path, getattr(error, "strerror", None) or str(error)) from error


def write_state(state: FileState, data: bytes) -> None:
    """Replace the file by `data`, whole or not at all.

    Raises:
        Conflict: it is no longer what `state` says.
        ConfigInvalid: it cannot be written.
    """
    beside = state.path.with_name(f".{state.path.name}.{ulid()}.tmp")
    try:
        state.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write_new(beside, data, state.mode)
        if read_state(state.path).data != state.data:
            raise Conflict(f"{state.path} was changed by somebody else just now", fix="try again")
        beside.replace(state.path)
    except OSError as error:
        raise _unwritable(state.path, error) from error
    finally:
        beside.unlink(missing_ok=True)


def keep(before: FileState, written: bytes, folders: Sequence[Path] | None = None, *, is_copy: bool = False) -> Path:
    """Keep what the file was; found again by `find_kept` as long as the file is what was written.

    `folders` are those that had to be made for it; without them, those that are missing now. A copy is for people:
    nothing is restored from it.

    Raises:
        ConfigInvalid: it cannot be written.
    """
    if folders is None:
        folders = missing_folders(before.path)
    path = _kept_path(before.path, written, _COPY if is_copy else _NONE if before.data is None else "")
    told = "".join(f"{folder}\n" for folder in folders).encode()
    try:
        before.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.unlink(missing_ok=True)
        _write_new(path, told if before.data is None else before.data, before.mode)
    except OSError as error:
        raise _unwritable(path, error) from error
    return path


def missing_folders(path: Path) -> list[Path]:
    """The folders above a file that are not there, the innermost first."""
    return [folder for folder in path.parents if not folder.exists()]


def find_kept(state: FileState) -> Kept | None:
    """What the file was before it was changed, if nobody has changed it since."""
    if state.data is None:
        return None
    old = _kept_path(state.path, state.data)
    if old.is_file():
        return Kept(old, old.read_bytes(), stat.S_IMODE(old.stat().st_mode))
    new = _kept_path(state.path, state.data, _NONE)
    if new.is_file():
        return Kept(new, None, PRIVATE, tuple(Path(line) for line in new.read_text().splitlines()))
    return None


def restore(state: FileState, kept: Kept) -> None:
    """Make the file what it was, and drop what was kept for that.

    Raises:
        Conflict: it is no longer what `state` says.
        ConfigInvalid: it cannot be written.
    """
    if kept.data is not None:
        write_state(structs.replace(state, mode=kept.mode), kept.data)
        kept.path.unlink(missing_ok=True)
        return
    if read_state(state.path).data != state.data:
        raise Conflict(f"{state.path} was changed by somebody else just now", fix="try again")
    state.path.unlink()
    kept.path.unlink(missing_ok=True)
    for folder in kept.folders:
        # Somebody else has put something there meanwhile: then it is theirs.
        with suppress(OSError):
            folder.rmdir()


def _write_new(path: Path, data: bytes, mode: int) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    path.chmod(mode)


def _kept_path(path: Path, written: bytes, ending: str = "") -> Path:
    return path.with_name(f"{path.name}.before-limen-{hashlib.sha256(written).hexdigest()[:16]}{ending}")


def _unwritable(path: Path, error: OSError) -> ConfigInvalid:
    why = error.strerror or type(error).__name__
    return ConfigInvalid(f"{path} cannot be written: {why}", fix="make its folder writable", file=str(path))


def _unreadable(path: Path, why: str) -> ConfigInvalid:
    return ConfigInvalid(f"{path} cannot be read: {why}", fix="make it a readable file", file=str(path))
