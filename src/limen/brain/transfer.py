"""Brains to files and back: what leaves is a snapshot, what comes in becomes visible only when all of it is right."""

import re
import shutil
from pathlib import Path

import msgspec

from limen.brain.documents.vault import open_vault
from limen.brain.documents.verifying import strange_parts
from limen.brain.git.repository import open_existing, open_repository
from limen.brain.library import Library, check_slug, refusal
from limen.brain.parcel import holds_all, open_snapshot
from limen.brain.parcelfile import read_parcel, write_parcel
from limen.brain.records import Brain, BrainId
from limen.errors import StoreUnavailable, Unreadable
from limen.ids import ulid

__all__ = ["export_brain", "import_brain"]

_REF = re.compile(r"([0-9a-f]{40}) (refs/[^\x00-\x20\x7f~^:?*\[\\]+)")
_HEAD = re.compile(r"ref: refs/heads/[^\x00-\x20\x7f~^:?*\[\\]+\n?")


def export_brain(library: Library, name: str, target: Path, *, with_git: bool = True) -> Brain:
    """Write a brain to one file: its documents, its journal and, unless it is not wanted, its git history.

    Raises:
        NoBrain: there is none of this name.
        Conflict: the target exists, or a file was changed while it was read.
        StoreUnavailable: it cannot be read or written.
    """
    brain = library.get(name)
    try:
        with open_snapshot(library.folder_of(brain), brain, with_git=with_git) as (snapshot, manifest):
            write_parcel(target, snapshot, manifest)
    except OSError as error:
        raise refusal(error, "the export cannot be written") from error
    return brain


def import_brain(library: Library, source: Path, *, slug: str | None = None) -> Brain:
    """Take in a brain from a file; it keeps its id and slug unless they are taken, or gets the slug asked for.

    Raises:
        Unreadable: the file is no export, is damaged, or its journal does not hold together.
        FileTooLarge: it holds more than there is room for.
        InvalidArguments: the slug cannot be one.
        Conflict: the slug asked for is taken.
    """
    if slug is not None:
        check_slug(slug)
    draft = library.make_draft()
    try:
        parcel, folder = draft / "parcel", draft / "brain"
        parcel.mkdir()
        manifest = read_parcel(source, parcel)
        _put_in_place(parcel, folder)
        brain = _free_identity(library, manifest.brain, slug)
        _check_inside(folder, brain.id)
        return library.adopt(folder, brain, is_fixed=slug is not None)
    except OSError as error:
        raise refusal(error, "the brain cannot be taken in") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _put_in_place(parcel: Path, folder: Path) -> None:
    documents = parcel / "documents"
    documents.mkdir(exist_ok=True)
    documents.rename(folder)
    own = folder / ".limen"
    own.mkdir(mode=0o700)
    (parcel / "journal.db").rename(own / "journal.db")
    if (parcel / "git").is_dir():
        _put_git(parcel / "git", folder)


def _put_git(git: Path, folder: Path) -> None:
    head = (git / "HEAD").read_text("utf-8") if (git / "HEAD").exists() else ""
    text = (git / "packed-refs").read_text("utf-8") if (git / "packed-refs").exists() else ""
    found = [_REF.fullmatch(line) for line in text.splitlines()]
    refs = {match[2]: match[1] for match in found if match and ".." not in match[2]}
    if not _HEAD.fullmatch(head) or ".." in head or len(refs) != len(found):
        raise Unreadable("file: not an export of a brain: its git refs cannot be read", field="file")
    open_repository(folder)
    for path in sorted((git / "objects").rglob("*")) if (git / "objects").is_dir() else ():
        if path.is_file():
            target = folder / ".git" / path.relative_to(git)
            target.parent.mkdir(exist_ok=True)
            path.rename(target)
    (folder / ".git" / "HEAD").write_text(head, "utf-8")
    (folder / ".git" / "packed-refs").write_text("".join(f"{oid} {name}\n" for name, oid in sorted(refs.items())))
    if not holds_all(open_existing(folder), refs):
        raise Unreadable("file: not an export of a brain: git objects are missing", field="file")


def _free_identity(library: Library, brain: Brain, slug: str | None) -> Brain:
    taken = {other.id for other in library.list()}
    identity = BrainId(f"brn_{ulid().lower()}") if brain.id in taken else brain.id
    return msgspec.structs.replace(brain, id=identity, slug=check_slug(slug or brain.slug))


def _check_inside(folder: Path, identity: BrainId) -> None:
    _check_schema(folder / ".limen" / "journal.db")
    vault = open_vault(folder, identity)
    try:
        # The files are new to this disk; the journal has to learn their times before they are compared.
        head = vault.head()
        if vault.notice() != head:
            raise Unreadable("file: not an export of a brain: documents and journal do not agree", field="file")
        faults = vault.verify()
    finally:
        vault.close()
    if faults:
        raise Unreadable(f"file: not an export of a brain: {faults[0]}", field="file")


def _check_schema(journal: Path) -> None:
    # Before anything is read or written through it: a trigger would run with the first write.
    try:
        strange = strange_parts(journal)
    except StoreUnavailable as error:
        raise Unreadable("file: not an export of a brain: its journal cannot be read", field="file") from error
    if strange:
        raise Unreadable(f"file: not an export of a brain: in its journal {strange[0]}", field="file")
