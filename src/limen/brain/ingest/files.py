"""Opens plain files beneath the allowed folders and nowhere else; refuses links that lead out of them.

A path is resolved once and then walked from its root folder by folder without following any link, so that a link put
in its place meanwhile is refused instead of followed.
"""

import os
import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from limen.brain.ingest.limits import MAX_BYTES
from limen.errors import Denied, FileTooLarge, InvalidArguments, LimenError, NotFound, Unreadable

__all__ = ["MOST_FILES", "LocalFile", "list_files", "read_file"]

MOST_FILES: Final = 100_000
"""In a folder that is taken in at once."""
_IGNORED: Final = frozenset({"node_modules", "__pycache__"})
_MOST_PATH_BYTES: Final = 4096
_TRIES: Final = 3
_BLOCK: Final = 1024 * 1024
_KINDS: Final = (
    (stat.S_ISDIR, "a folder; name the files in it, or use `limen ingest` for all of them"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISLNK, "a link that was just put there"),
)


class LocalFile(Struct, frozen=True):
    """A file that was read."""

    path: str
    """Where it lies, links resolved; bytes that are no text are replaced."""
    name: str
    """The same from its allowed folder on, with `/` between folders."""
    content: bytes


class _Place(Struct, frozen=True):
    """A real path, as an allowed folder and the names beneath it."""

    root: str
    parts: tuple[str, ...]


def read_file(
    path: str, roots: Sequence[Path], *, limit: int = MAX_BYTES, follows_hard_links: bool = False
) -> LocalFile:
    """Read a whole file; a relative path is looked for in the first of the allowed folders.

    Files that have a second name are refused unless `follows_hard_links`: the other name may lie outside.

    Raises:
        Denied: it does not lie beneath an allowed folder.
        NotFound: there is no such file.
        Unreadable: it is no plain file, may not be read, has other names, or does not keep still.
        FileTooLarge: it holds more than the limit.
    """
    place = _resolve(path, roots)
    if not place.parts:
        raise Unreadable(f"path: {path!r} is {_KINDS[0][1]}", field="path")
    with _errors_of(path), _open_folder(place.root, place.parts[:-1]) as folder:
        for _ in range(_TRIES):
            content = _read(path, place.parts[-1], folder, limit=limit, most_names=None if follows_hard_links else 1)
            if content is not None:
                whole = os.path.join(place.root, *place.parts)
                return LocalFile(_in_unicode(whole), _in_unicode("/".join(place.parts)), content)
    raise Unreadable(f"path: {path!r} changes while it is read; try again when it is at rest", field="path")


def list_files(path: str, roots: Sequence[Path]) -> list[str]:
    """The plain files of a folder and of the folders in it, sorted; hidden ones and links are left out.

    Raises:
        Denied: it does not lie beneath an allowed folder.
        NotFound: there is no such folder.
        Unreadable: it is no folder, or may not be read.
        FileTooLarge: there are too many files.
    """
    place = _resolve(path, roots)
    with _errors_of(path), _open_folder(place.root, place.parts) as folder:
        found = sorted(_walk(folder, os.path.join(place.root, *place.parts)))
    if len(found) > MOST_FILES:
        raise FileTooLarge(f"path: {path!r} holds more than {MOST_FILES:,} files; take its folders one by one")
    return found


def _walk(folder: int, top: str) -> Iterator[str]:
    """Every plain file, by descriptors, so that a folder that becomes a link meanwhile is not entered."""
    count = 0
    for base, folders, names, descriptor in os.fwalk(".", dir_fd=folder, follow_symlinks=False, onerror=_raise):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _IGNORED)
        for name in names:
            if not name.startswith(".") and _is_plain(name, descriptor):
                count += 1
                yield os.path.normpath(os.path.join(top, base, name))
        if count > MOST_FILES:
            return


def _is_plain(name: str, folder: int) -> bool:
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        # Gone since its folder was listed.
        return False


def _raise(error: OSError) -> None:
    raise error


def _resolve(path: str, roots: Sequence[Path]) -> _Place:
    if not path or "\0" in path or len(os.fsencode(path)) > _MOST_PATH_BYTES:
        raise InvalidArguments("path: must be a file path without NUL and of at most 4096 bytes", field="path")
    if not roots:
        raise _denied(path, "no folder is allowed yet")
    whole = os.path.normpath(os.path.join(roots[0], path))
    real_roots = [os.path.realpath(root) for root in roots]
    # Looked at as written first: of what lies elsewhere not even its existence is told.
    if not any(_is_beneath(whole, root) for root in (*map(os.path.normpath, roots), *real_roots)):
        raise _denied(path, "it lies elsewhere")
    with _errors_of(path):
        real = os.path.realpath(whole, strict=True)
    for root in real_roots:
        if _is_beneath(real, root):
            rest = os.path.relpath(real, root)
            return _Place(root, () if rest == "." else tuple(rest.split(os.sep)))
    raise _denied(path, "a link in it leads out of them")


def _is_beneath(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _denied(path: str, why: str) -> Denied:
    return Denied(
        f"path: {path!r} is not beneath one of the `allowed_file_roots`: {why}; add its folder to that setting",
        rule="allowed_file_roots",
        field="path",
    )


@contextmanager
def _open_folder(root: str, parts: Sequence[str]) -> Generator[int]:
    """A descriptor of a folder, reached without following a link."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    folder = os.open(root, flags)
    try:
        for part in parts:
            inner = os.open(part, flags, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _in_unicode(path: str) -> str:
    """A name may be any bytes on disk; what is kept of it must be text."""
    return os.fsencode(path).decode("utf-8", "replace")


def _read(path: str, name: str, folder: int, *, limit: int, most_names: int | None) -> bytes | None:
    """The content, or None when the file changed meanwhile."""
    # Asked before it is opened: opening a device can set it to work.
    _check(path, os.stat(name, dir_fd=folder, follow_symlinks=False), limit, most_names)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    with open(os.open(name, flags, dir_fd=folder), "rb", buffering=0) as file:
        before = os.fstat(file.fileno())
        _check(path, before, limit, most_names)
        blocks: list[bytes] = []
        size = 0
        while block := file.read(min(_BLOCK, limit + 1 - size)):
            blocks.append(block)
            size += len(block)
        after = os.fstat(file.fileno())
    is_still = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns) and size == after.st_size
    return b"".join(blocks) if is_still else None


def _check(path: str, status: os.stat_result, limit: int, most_names: int | None) -> None:
    for is_kind, what in _KINDS:
        if is_kind(status.st_mode):
            raise Unreadable(f"path: {path!r} is {what}", field="path")
    if status.st_size > limit:
        raise FileTooLarge(
            f"path: {path!r} holds {status.st_size:,} bytes, and {limit:,} are the most; split it", limit=limit
        )
    if most_names is not None and status.st_nlink > most_names:
        raise Unreadable(f"path: {path!r} is a hard link, the same file has another name; copy it first", field="path")


@contextmanager
def _errors_of(path: str) -> Generator[None]:
    """The system's errors as ours."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(f"path: there is no file {path!r}", field="path") from error
    except OSError as error:
        raise _refusal(path, error) from error


def _refusal(path: str, error: OSError) -> LimenError:
    why = os.strerror(error.errno).lower() if error.errno else "the system gives no reason"
    return Unreadable(f"path: {path!r} cannot be read: {why}", field="path", errno=error.errno)
