"""Records what a process does to the files beneath a folder, in the order in which it is done.

SQLite is heard through a layer of its own between it and the system, everything else through `os`. One lock makes an
order of it. What is recorded: files and folders that are made, renamed and removed, bytes that are written, lengths
that are cut, what was synced, and what was said on stdout (the acknowledgements). Shared memory and locks are left
out, as no disk keeps them. SQLite syncs the folder when it first syncs a new log, out of sight of its layers; every
sync of a file of SQLite is therefore recorded as one of its folder too.
"""

import os
from collections.abc import Callable
from pathlib import Path
from threading import RLock
from typing import Any

import apsw
from msgspec import Struct

__all__ = ["Step", "record"]

_FILES = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL


class Step(Struct, frozen=True, omit_defaults=True):
    """One thing that was done; files have numbers, because their names change."""

    kind: str
    path: str = ""
    to: str = ""
    file: int = 0
    at: int = 0
    data: bytes = b""


class _Recorder:
    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.steps: list[Step] = []
        self.lock = RLock()
        self.names: dict[str, int] = {}
        self.open_files: dict[int, int] = {}
        self.files = 0
        self.layer: _Layer | None = None

    def inside(self, path: str | bytes | os.PathLike[Any], folder: int | None = None) -> str | None:
        """The path beneath the root, or None when it is elsewhere; the root itself is the empty path."""
        name = os.fsdecode(path)
        whole = name if folder is None else f"{os.readlink(f'/proc/self/fd/{folder}')}/{name}"
        if whole == self.root:
            return ""
        return whole[len(self.root) + 1 :] if whole.startswith(f"{self.root}/") else None

    def made(self, path: str) -> int:
        """A new file has this name now."""
        self.files += 1
        self.names[path] = self.files
        self.steps.append(Step("create", path, file=self.files))
        return self.files


def record(root: Path) -> list[Step]:
    """Begin to record, for the rest of this process's life; the list grows as things are done."""
    recorder = _Recorder(root)
    _record_os(recorder)
    # A layer lasts as long as somebody holds it.
    recorder.layer = _Layer(recorder)
    return recorder.steps


def _record_os(recorder: _Recorder) -> None:
    real_open, real_fsync = os.open, os.fsync

    def opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        with recorder.lock:
            inside = recorder.inside(path, dir_fd)
            file = real_open(path, flags, mode, dir_fd=dir_fd)
            recorder.open_files.pop(file, None)
            if inside and not flags & os.O_DIRECTORY:
                if flags & os.O_CREAT and inside not in recorder.names:
                    recorder.made(inside)
                if inside in recorder.names:
                    recorder.open_files[file] = recorder.names[inside]
            return file

    def synced(file: int) -> None:
        with recorder.lock:
            real_fsync(file)
            if file in recorder.open_files:
                recorder.steps.append(Step("sync", file=recorder.open_files[file]))
            elif (folder := recorder.inside(os.readlink(f"/proc/self/fd/{file}"))) is not None:
                recorder.steps.append(Step("sync folder", folder))

    os.open, os.fsync = opened, synced
    _record_bytes(recorder)
    _record_names(recorder)


def _record_bytes(recorder: _Recorder) -> None:
    real_write, real_pwrite, real_ftruncate = os.write, os.pwrite, os.ftruncate

    def written(file: int, data: Any) -> int:
        with recorder.lock:
            if file == 1:
                recorder.steps.append(Step("said", data=bytes(data)))
                return len(data)
            at = os.lseek(file, 0, os.SEEK_CUR) if file in recorder.open_files else 0
            count = real_write(file, data)
            if file in recorder.open_files:
                step = Step("write", file=recorder.open_files[file], at=at, data=bytes(data[:count]))
                recorder.steps.append(step)
            return count

    def written_at(file: int, data: bytes, at: int) -> int:
        with recorder.lock:
            count = real_pwrite(file, data, at)
            if file in recorder.open_files:
                recorder.steps.append(Step("write", file=recorder.open_files[file], at=at, data=data[:count]))
            return count

    def cut(file: int, length: int) -> None:
        with recorder.lock:
            real_ftruncate(file, length)
            if file in recorder.open_files:
                recorder.steps.append(Step("cut", file=recorder.open_files[file], at=length))

    os.write, os.pwrite, os.ftruncate = written, written_at, cut


def _record_names(recorder: _Recorder) -> None:
    real_rename = os.rename

    def renamed(src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        with recorder.lock:
            before, after = recorder.inside(src, src_dir_fd), recorder.inside(dst, dst_dir_fd)
            real_rename(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
            if before and after:
                file = recorder.names[after] = recorder.names.pop(before)
                recorder.steps.append(Step("rename", before, after, file))

    def telling(real: Callable[..., None], kind: str) -> Callable[..., None]:
        def done(path: Any, *args: Any, dir_fd: int | None = None) -> None:
            with recorder.lock:
                inside = recorder.inside(path, dir_fd)
                real(path, *args, dir_fd=dir_fd)
                if inside is not None:
                    recorder.steps.append(Step(kind, inside, file=recorder.names.pop(inside, 0)))

        return done

    os.rename = renamed
    os.unlink = telling(os.unlink, "remove")
    os.mkdir = telling(os.mkdir, "make folder")
    os.rmdir = telling(os.rmdir, "remove folder")


class _Layer(apsw.VFS):
    """Between SQLite and the system; the checksums lie above it."""

    def __init__(self, recorder: _Recorder) -> None:
        self._recorder = recorder
        self._below = apsw.vfs_names()[0]
        super().__init__("recording", self._below, makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        with self._recorder.lock:
            path = name.filename() if isinstance(name, apsw.URIFilename) else name
            file = _File(self._recorder, self._below, name, flags)
            inside = self._recorder.inside(path) if path and flags[0] & _FILES else None
            if inside:
                file.number = self._recorder.names.get(inside) or self._recorder.made(inside)
                file.folder = inside.rpartition("/")[0]
            return file

    def xDelete(self, filename: str, syncdir: bool) -> None:
        with self._recorder.lock:
            super().xDelete(filename, syncdir)
            inside = self._recorder.inside(filename)
            if inside:
                self._recorder.steps.append(Step("remove", inside, file=self._recorder.names.pop(inside, 0)))
                if syncdir:
                    self._recorder.steps.append(Step("sync folder", inside.rpartition("/")[0]))


class _File(apsw.VFSFile):
    def __init__(self, recorder: _Recorder, below: str, name: Any, flags: list[int]) -> None:
        super().__init__(below, name, flags)
        self._recorder = recorder
        self.number = 0
        self.folder = ""

    def xWrite(self, data: bytes, offset: int) -> None:
        with self._recorder.lock:
            super().xWrite(data, offset)  # pyright: ignore[reportUnknownMemberType] - "Buffer" in its stub
            if self.number:
                self._recorder.steps.append(Step("write", file=self.number, at=offset, data=bytes(data)))

    def xTruncate(self, newsize: int) -> None:
        with self._recorder.lock:
            super().xTruncate(newsize)
            if self.number:
                self._recorder.steps.append(Step("cut", file=self.number, at=newsize))

    def xSync(self, flags: int) -> None:
        with self._recorder.lock:
            super().xSync(flags)
            if self.number:
                self._recorder.steps.append(Step("sync", file=self.number))
                self._recorder.steps.append(Step("sync folder", self.folder))
