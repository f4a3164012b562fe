"""Finds what others did to a brain's files: by a walk over all of them, or told by the system; journals nothing."""

import logging
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from threading import Event, Thread

from msgspec import Struct

from limen.brain.documents.document import MAX_DOCUMENT_BYTES
from limen.brain.documents.placing import Folder, stamp_of
from limen.brain.paths import RESERVED, check_path
from limen.errors import InvalidPath

__all__ = ["Suspects", "Watcher", "find_suspects", "is_document_name", "is_document_path"]

log = logging.getLogger(__name__)

DEBOUNCE_MS = 200
BATCH_PATHS = 512
BATCH_BYTES = 8 * 1024 * 1024
_PASSING_ENDINGS = (
    "~",
    ".swp",
    ".swo",
    ".swx",
    ".tmp",
    ".temp",
    ".part",
    ".partial",
    ".crdownload",
    ".lock",
)


def is_document_name(name: str) -> bool:
    """Whether a file of this name is meant to stay: not hidden, and not an editor's or a download's passing file."""
    if name.startswith((".", "~$")) or name.endswith(_PASSING_ENDINGS):
        return False
    return not (name.startswith("#") and name.endswith("#"))


def is_document_path(path: str) -> bool:
    """Whether a file at this path would be taken up as a document by itself."""
    *above, name = path.split("/")
    return is_document_name(name) and not any(folder.startswith(".") for folder in above)


class Suspects(Struct, frozen=True):
    """Paths to look at together, and how many bytes lie there."""

    paths: Sequence[str]
    size: int


def find_suspects(folder: Folder, known: Mapping[str, str], oddities: set[str]) -> Sequence[Suspects]:
    """Paths where the files are not as the journal knows them, in handy batches, those of one inode side by side.

    `oddities` are the files that cannot be documents and were told of in the log; it is kept up to date.
    """
    walk = _Walk(folder, known, oddities)
    there = dict(walk.files(""))
    changed = {path: stamp for path, stamp in there.items() if known.get(path) != stamp}
    changed.update((path, stamp) for path, stamp in known.items() if path not in there and not walk.is_hidden(path))
    ordered = sorted(changed, key=lambda path: (changed[path].partition(":")[0], path))
    return _batches(ordered, {path: int(stamp.split(":")[1]) for path, stamp in there.items() if path in changed})


def _batches(paths: Sequence[str], sizes: Mapping[str, int]) -> Sequence[Suspects]:
    batches: list[Suspects] = []
    batch: list[str] = []
    size = 0
    for path in paths:
        if batch and (len(batch) >= BATCH_PATHS or size + sizes.get(path, 0) > BATCH_BYTES):
            batches.append(Suspects(batch, size))
            batch, size = [], 0
        batch.append(path)
        size += sizes.get(path, 0)
    return [*batches, Suspects(batch, size)] if batch else batches


class _Walk:
    """Goes through every folder of a brain without following a link."""

    def __init__(self, folder: Folder, known: Mapping[str, str], oddities: set[str]) -> None:
        self._folder = folder
        self._oddities = oddities
        self._known = known
        self._known_folders = {path[:at] for path in known for at in _slashes(path)}
        self._unread: list[str] = []

    def is_hidden(self, path: str) -> bool:
        """Whether it lies in a folder that could not be read."""
        return any(path.startswith(f"{folder}/") or not folder for folder in self._unread)

    def files(self, folder: str) -> Generator[tuple[str, str]]:
        """Path and stamp of every file that is, or may become, a document."""
        inner: list[str] = []
        try:
            with self._folder.open_folder(folder) as opened, os.scandir(opened) as entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        inner.append(path)
                    elif entry.is_file(follow_symlinks=False) and self._is_document(path, entry):
                        yield path, stamp_of(entry.stat(follow_symlinks=False))
        except FileNotFoundError:
            return
        except OSError as error:
            log.warning("folder cannot be read", extra={"path": folder, "reason": str(error)})
            self._unread.append(folder)
            return
        for path in inner:
            if self._is_folder(path):
                yield from self.files(path)

    def _is_folder(self, path: str) -> bool:
        if path.casefold() in RESERVED:
            return False
        return path in self._known_folders or not path.rpartition("/")[2].startswith(".")

    def _is_document(self, path: str, entry: "os.DirEntry[str]") -> bool:
        if path in self._known:
            return True
        if not is_document_name(entry.name):
            return False
        reason = ""
        try:
            check_path(path)
        except InvalidPath as error:
            reason = str(error)
        if entry.stat(follow_symlinks=False).st_size > MAX_DOCUMENT_BYTES:
            reason = "it is larger than a document may be"
        if reason and path not in self._oddities:
            self._oddities.add(path)
            log.warning("file cannot be a document", extra={"path": ascii(path), "reason": reason})
        return not reason


def _slashes(path: str) -> Sequence[int]:
    return [at for at, char in enumerate(path) if char == "/"]


class Watcher:
    """Tells soon after files changed, for as long as it runs."""

    def __init__(self, root: Path, changed: Callable[[], object]) -> None:
        self._root = root
        self._changed = changed
        self._stop = Event()
        self._thread = Thread(target=self._run, name="brain-watcher", daemon=True)

    def start(self) -> None:
        """Begin to watch, in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        # Imported here: only long-lived processes watch.
        import watchfiles

        own = {str(self._root / name) for name in RESERVED}

        def is_ours(_: watchfiles.Change, path: str) -> bool:
            return not any(path == folder or path.startswith(f"{folder}{os.sep}") for folder in own)

        try:
            for _ in watchfiles.watch(
                self._root,
                watch_filter=is_ours,
                debounce=DEBOUNCE_MS,
                stop_event=self._stop,
                raise_interrupt=False,
                rust_timeout=1000,
                ignore_permission_denied=True,
            ):
                self._changed()
        except OSError as error:
            log.warning("files cannot be watched", extra={"path": str(self._root), "reason": str(error)})
