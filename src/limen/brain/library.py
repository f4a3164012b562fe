"""The brains beneath one folder: making, finding, putting away; knows nothing of what is inside them.

A brain is a folder named after its slug, with its own data in `.limen/brain.json`. Folders come and go by one
rename, so several processes may do it at once, and a kill leaves nothing half made under a brain's name.
"""

import errno
import logging
import os
import re
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from limen.brain.paths import slug_of
from limen.brain.records import Brain, BrainId, Visibility
from limen.clock import now_ms, timestamp
from limen.errors import Conflict, InvalidArguments, NoBrain, NotFound, StoreFull, StoreUnavailable
from limen.ids import ulid

__all__ = ["FIRST_BRAIN", "Library", "Sees", "Trashed", "check_name", "check_slug", "write_brain"]

log = logging.getLogger(__name__)

FIRST_BRAIN = "default"
"""The brain that the first write makes when there is none, so that remembering needs no setting up."""
MOST_NAME_CHARS = 128
MOST_SLUG_CHARS = 64
MOST_SUFFIX = 10_000
OWN = ".limen"
DATA = "brain.json"
TRASH = ".trash"
DRAFT_PREFIX = ".making-"
_STALE_DRAFT_S = 24 * 3600.0
_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_VISIBILITIES: tuple[Visibility, ...] = ("private", "tenant", "public")
_TRASHED = re.compile(r"([a-z0-9][a-z0-9-]*)-(\d{13})(?:-\d+)?")
_FULL = {errno.ENOSPC, errno.EDQUOT}
_PURGED_PREFIX = ".purging-"

Sees = Callable[[Brain], bool]
"""Whether somebody may see a brain."""


class Trashed(NamedTuple):
    """A brain that was put away."""

    brain: Brain
    deleted_at: str
    folder: Path


def _everything(_: Brain) -> bool:
    return True


class Library:
    """Every brain beneath a folder, which need not exist yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[str, tuple[tuple[int, int], Brain]] = {}

    def folder_of(self, brain: Brain) -> Path:
        """Where the documents of a brain lie."""
        return self.folder / brain.slug

    def list(self, sees: Sees = _everything) -> Sequence[Brain]:
        """The brains somebody may see, the oldest first."""
        try:
            names = [entry.name for entry in os.scandir(self.folder) if not entry.name.startswith(".")]
        except FileNotFoundError:
            return []
        found = [brain for name in names if (brain := self._find(name)) is not None]
        return sorted(filter(sees, found), key=lambda brain: (brain.created_at, brain.id))

    def get(self, name: str, sees: Sees = _everything) -> Brain:
        """The brain of this slug or id.

        Raises:
            NoBrain: there is none that may be seen.
        """
        found = self._find(name) if _SLUG.fullmatch(name) else None
        if found is None:
            found = next((brain for brain in self.list() if brain.id == name), None)
        if found is None or not sees(found):
            raise NoBrain(
                f"brain: there is no brain {name[:80]!r}; `limen brain list` shows those there are", field="brain"
            )
        return found

    def resolve(self, name: str | None, default: str = "", *, create: bool = False, sees: Sees = _everything) -> Brain:
        """The brain that is meant: the named one, else the configured one, else the oldest that may be seen.

        With `create`, the very first brain is made when there is none at all.

        Raises:
            NoBrain: there is none.
        """
        if name:
            return self.get(name, sees)
        if create and not self.list():
            return self._make_first(default or FIRST_BRAIN)
        if default:
            try:
                return self.get(default, sees)
            except NoBrain:
                message = f"brain: the default brain {default[:80]!r} does not exist; make it with `limen brain create`"
                raise NoBrain(f"{message}, or change `memory.default_brain`", field="brain") from None
        brains = self.list(sees)
        if not brains:
            raise NoBrain("brain: there is no brain yet; make one with `limen brain create NAME`", field="brain")
        return brains[0]

    def create(self, name: str, slug: str | None = None, visibility: Visibility = "private") -> Brain:
        """Make a new, empty brain; without a slug one is made from the name and is its own.

        Raises:
            InvalidArguments: name, slug or visibility cannot be one.
            Conflict: the slug is taken.
            StoreUnavailable: the folder cannot be written.
        """
        check_name(name)
        if visibility not in _VISIBILITIES:
            raise InvalidArguments("visibility: must be private, tenant or public", field="visibility")
        now = timestamp()
        brain = Brain(
            id=BrainId(f"brn_{ulid().lower()}"),
            slug=slug_of(name, fallback="brain", limit=MOST_SLUG_CHARS) if slug is None else check_slug(slug),
            name=name,
            visibility=visibility,
            created_at=now,
            updated_at=now,
        )
        draft = self.make_draft()
        try:
            write_brain(draft, brain)
            return self.adopt(draft, brain, is_fixed=slug is not None)
        except OSError as error:
            raise refusal(error, "the brain cannot be made") from error
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def adopt(self, draft: Path, brain: Brain, *, is_fixed: bool) -> Brain:
        """Give a finished folder its place among the brains, under a free variant of its slug unless that is fixed.

        Raises:
            Conflict: the slug is taken and fixed.
        """
        for number in range(1, MOST_SUFFIX):
            slug = brain.slug if number == 1 else _suffixed(brain.slug, number)
            # Also a folder that is no brain keeps its name; an empty one would be replaced by the rename.
            if not (self.folder / slug).exists():
                named = msgspec.structs.replace(brain, slug=slug)
                write_brain(draft, named)
                try:
                    draft.rename(self.folder / slug)
                except OSError:
                    if not (self.folder / slug).exists():
                        raise
                else:
                    _sync_folder(self.folder)
                    return named
            if is_fixed:
                raise Conflict(f"slug: {brain.slug} is taken; choose another", field="slug", slug=brain.slug)
        raise Conflict(f"slug: {brain.slug} and all its variants are taken; choose another", field="slug")

    def delete(self, name: str) -> Trashed:
        """Put a brain away; `restore` brings it back, only `purge` is for ever.

        Raises:
            NoBrain: there is none.
        """
        brain = self.get(name)
        at_ms = now_ms()
        (self.folder / TRASH).mkdir(exist_ok=True)
        for number in range(MOST_SUFFIX):
            target = self.folder / TRASH / (f"{brain.slug}-{at_ms}" + (f"-{number}" if number else ""))
            if target.exists():
                continue
            try:
                self.folder_of(brain).rename(target)
            except FileNotFoundError:
                raise NoBrain(f"brain: {brain.slug} was deleted by somebody else", field="brain") from None
            except OSError as error:
                raise refusal(error, "the brain cannot be put away") from error
            _sync_folder(self.folder)
            return Trashed(brain, timestamp(at_ms), target)
        raise Conflict("brain: the trash is full of brains of this name; purge it", field="brain")

    def trash(self) -> Sequence[Trashed]:
        """The brains that were put away, the last one first."""
        try:
            folders = list(os.scandir(self.folder / TRASH))
        except FileNotFoundError:
            return []
        found: list[tuple[int, Trashed]] = []
        for entry in folders:
            named = _TRASHED.fullmatch(entry.name)
            brain = _read_brain(Path(entry.path)) if named else None
            if named and brain is not None:
                at_ms = int(named[2])
                found.append((at_ms, Trashed(brain, timestamp(at_ms), Path(entry.path))))
        return [trashed for _, trashed in sorted(found, key=lambda pair: (-pair[0], pair[1].folder.name))]

    def restore(self, name: str) -> Brain:
        """Bring back the brain of this slug or id that was put away last.

        Raises:
            NotFound: none was put away.
            Conflict: another brain has its slug now.
        """
        trashed = self._trashed(name)[0]
        return self.adopt(trashed.folder, trashed.brain, is_fixed=True)

    def purge(self, name: str) -> int:
        """Remove every brain of this slug or id that was put away, for ever; returns how many.

        Raises:
            NotFound: none was put away.
        """
        gone = self._trashed(name)
        for trashed in gone:
            # First out of sight, so that a kill leaves nothing that could be restored by half.
            trashed.folder.rename(self.folder / TRASH / f"{_PURGED_PREFIX}{ulid().lower()}")
        for folder in (self.folder / TRASH).glob(f"{_PURGED_PREFIX}*"):
            shutil.rmtree(folder)
        return len(gone)

    def make_draft(self) -> Path:
        """A folder that is no brain yet, on the same disk; old ones of killed processes go."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for path in self.folder.glob(f"{DRAFT_PREFIX}*"):
                with suppress(FileNotFoundError):
                    if time.time() - path.stat().st_mtime > _STALE_DRAFT_S:
                        shutil.rmtree(path, ignore_errors=True)
            draft = self.folder / f"{DRAFT_PREFIX}{ulid().lower()}"
            draft.mkdir(mode=0o700)
        except OSError as error:
            raise refusal(error, "the folder of the brains cannot be written") from error
        return draft

    def _trashed(self, name: str) -> Sequence[Trashed]:
        found = [trashed for trashed in self.trash() if name in {trashed.brain.slug, trashed.brain.id}]
        if not found:
            raise NotFound(f"brain: no brain {name[:80]!r} was put away", field="brain")
        return found

    def _make_first(self, name: str) -> Brain:
        slug = name if _SLUG.fullmatch(name) else slug_of(name, fallback=FIRST_BRAIN)
        try:
            return self.create(name[:MOST_NAME_CHARS], slug)
        except Conflict:
            # Another process was first.
            return self.get(slug)

    def _find(self, slug: str) -> Brain | None:
        path = self.folder / slug / OWN / DATA
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        signature = (status.st_ino, status.st_mtime_ns)
        known = self._known.get(slug)
        if known is not None and known[0] == signature:
            return known[1]
        brain = _read_brain(self.folder / slug)
        if brain is None:
            return None
        # The folder's name is what others rely on, also when somebody renamed it by hand.
        brain = msgspec.structs.replace(brain, slug=slug)
        self._known[slug] = (signature, brain)
        return brain


def check_name(name: str) -> str:
    """The name itself, when it may be a brain's.

    Raises:
        InvalidArguments: it is empty or too long.
    """
    if not 1 <= len(name) <= MOST_NAME_CHARS or not name.strip():
        raise InvalidArguments(f"name: must have 1 to {MOST_NAME_CHARS} characters", field="name")
    return name


def check_slug(slug: str) -> str:
    """The slug itself, when it may be one.

    Raises:
        InvalidArguments: it breaks the rules for slugs.
    """
    if not _SLUG.fullmatch(slug):
        rule = "1 to 64 lower-case letters, digits and hyphens, beginning with a letter or digit"
        raise InvalidArguments(f"slug: must be {rule}", field="slug")
    return slug


def write_brain(folder: Path, brain: Brain) -> None:
    """Write a brain's own data into its folder, whole or not at all."""
    own = folder / OWN
    own.mkdir(mode=0o700, exist_ok=True)
    draft = own / f"{DATA}.draft"
    with open(draft, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(brain)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(own / DATA)
    _sync_folder(own)


def refusal(error: OSError, what: str) -> StoreFull | StoreUnavailable:
    """How a failure of the disk is told."""
    if error.errno in _FULL:
        return StoreFull(f"{what}: the disk is full; free some room and try again")
    return StoreUnavailable(f"{what}: {error.strerror or error}")


def _read_brain(folder: Path) -> Brain | None:
    try:
        return msgspec.json.decode((folder / OWN / DATA).read_bytes(), type=Brain)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        log.warning(
            "a brain cannot be listed: its data is damaged", extra={"folder": str(folder), "reason": str(error)}
        )
        return None


def _suffixed(slug: str, number: int) -> str:
    suffix = f"-{number}"
    return slug[: MOST_SLUG_CHARS - len(suffix)].rstrip("-") + suffix


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
