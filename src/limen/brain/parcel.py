"""A brain as one file: written from a snapshot, the same bytes for the same brain; taken in only when all of it fits.

The file is a gzipped tar: `manifest.json` with the size and digest of everything, `journal.db`, the documents, and
git's objects and refs. Nothing else of git travels: a settings file or a hook would be a program on the way in.
"""

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from limen.brain.documents.gate import Gate, boot_id
from limen.brain.documents.vault import open_vault
from limen.brain.git.repository import Repository, open_existing
from limen.brain.paths import RESERVED, check_path
from limen.brain.records import Brain
from limen.db.sqlite import close, connect_readonly, copy_to
from limen.errors import InvalidPath, NotFound, StoreUnavailable
from limen.ids import ulid

__all__ = ["FORMAT", "Manifest", "PackedFile", "digest_of", "is_git_part", "open_snapshot"]

FORMAT = "limen-brain"
VERSION = 1
PATIENCE_S = 30.0
_GIT_TRIES = 5
_STALE_S = 24 * 3600.0
_PART = 1 << 20
_GIT_PART = re.compile(r"HEAD|packed-refs|objects/(?:pack/pack-[0-9a-f]{40}\.(?:pack|idx)|[0-9a-f]{2}/[0-9a-f]{38})")


class PackedFile(Struct, frozen=True):
    """One file of a parcel."""

    path: str
    size: int
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True):
    """What a parcel holds."""

    format: str = FORMAT
    version: int = VERSION
    brain: Brain
    files: list[PackedFile]


def is_git_part(path: str) -> bool:
    """Whether a file of git's may travel: objects, refs and HEAD."""
    return _GIT_PART.fullmatch(path) is not None


@contextmanager
def open_snapshot(root: Path, brain: Brain, *, with_git: bool) -> Generator[tuple[Path, Manifest]]:
    """The brain as it is at one moment, in a folder that is gone afterwards.

    Raises:
        StoreUnavailable: the brain cannot be read, or is being written for too long.
    """
    vault = open_vault(root, brain.id)
    snapshot = root / ".limen" / f"export-{ulid().lower()}"
    try:
        vault.notice()
        for left in (root / ".limen").glob("export-*"):
            if time.time() - left.stat().st_mtime > _STALE_S:
                shutil.rmtree(left, ignore_errors=True)
        snapshot.mkdir(mode=0o700)
        _take_documents(root, snapshot)
        if with_git:
            _take_git(root, snapshot / "git")
        yield snapshot, Manifest(brain=brain, files=list(_weigh(snapshot)))
    finally:
        shutil.rmtree(snapshot, ignore_errors=True)
        vault.close()


def _take_documents(root: Path, snapshot: Path) -> None:
    gate = Gate(root / ".limen" / "writer.lock", boot_id(), PATIENCE_S)
    try:
        # While the lock is held journal and files tell the same; a link is taken quicker than a copy.
        with gate.hold() as held:
            for path in _documents(root):
                _link(root / path, snapshot / "documents" / path)
            db = connect_readonly(root / ".limen" / "journal.db", checksummed=True)
            try:
                copy_to(db, snapshot / "journal.db")
            finally:
                close(db)
            held.is_done = held.left == "done"
    finally:
        gate.close()


def _documents(root: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        inside = Path(folder).relative_to(root)
        if folder == str(root):
            folders[:] = [name for name in folders if name.casefold() not in RESERVED]
        for name in names:
            path = (inside / name).as_posix()
            if not (root / path).is_symlink() and (root / path).is_file() and _is_path(path):
                yield path


def _is_path(path: str) -> bool:
    try:
        check_path(path)
    except InvalidPath:
        return False
    return True


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(source, target)


def _take_git(root: Path, target: Path) -> None:
    for _ in range(_GIT_TRIES):
        try:
            repository = open_existing(root)
        except NotFound:
            return
        refs = repository.list_refs()
        head = (root / ".git" / "HEAD").read_text("utf-8", "replace")
        # Refs first: objects only come, but packs are replaced by bigger ones while we look.
        try:
            _link_objects(root / ".git", target)
        except FileNotFoundError:
            shutil.rmtree(target, ignore_errors=True)
            continue
        (target / "refs").mkdir(parents=True, exist_ok=True)
        (target / "HEAD").write_text(head if head.startswith("ref: refs/heads/") else "ref: refs/heads/main\n", "utf-8")
        lines = [f"{oid} {name}\n" for name, oid in sorted(refs.items())]
        (target / "packed-refs").write_text("".join(lines), "utf-8")
        if holds_all(open_existing(target.parent, "git"), refs):
            (target / "refs").rmdir()
            return
        shutil.rmtree(target, ignore_errors=True)
    raise StoreUnavailable("git is being packed again and again; try the export later", reason="git")


def holds_all(repository: Repository, refs: dict[str, str]) -> bool:
    """Whether what the refs point at is there."""
    return all(repository.has(bytes.fromhex(oid)) for oid in refs.values())


def _link_objects(folder: Path, target: Path) -> None:
    for path in sorted((folder / "objects").rglob("*")):
        inside = path.relative_to(folder).as_posix()
        if is_git_part(inside) and path.is_file():
            _link(path, target / inside)


def _weigh(snapshot: Path) -> Iterator[PackedFile]:
    for path in sorted(snapshot.rglob("*"), key=lambda path: path.relative_to(snapshot).as_posix()):
        if path.is_file():
            size, digest = digest_of(path)
            yield PackedFile(path.relative_to(snapshot).as_posix(), size, digest)


def digest_of(path: Path, each: Callable[[bytes], object] | None = None) -> tuple[int, str]:
    """Size and digest of a file, read in parts that `each` may have too."""
    digest = hashlib.sha256()
    size = 0
    with path.open("rb") as file:
        while part := file.read(_PART):
            digest.update(part)
            size += len(part)
            if each is not None:
                each(part)
    return size, digest.hexdigest()
