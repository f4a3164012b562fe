"""One transaction's worth of errands: each accepted or refused alone, all that are accepted committed together."""

import errno
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal

from msgspec import Struct, structs

from limen.brain.documents.chain import Intent
from limen.brain.documents.document import Deed, Document
from limen.brain.documents.ground import Ground
from limen.brain.documents.journal import Placing
from limen.brain.documents.ledger import Ledger
from limen.brain.documents.placing import Folder
from limen.brain.documents.staging import Stage, digest_of, paths_of
from limen.brain.records import ChangeSet, Commit
from limen.clock import timestamp
from limen.errors import Conflict, LimenError, StoreFull, StoreUnavailable
from limen.ids import ulid

__all__ = ["ChangeErrand", "Errand", "Group", "NoticeErrand", "disk_refusal", "place_all"]

log = logging.getLogger(__name__)

EXTERNAL = Intent(actor="external", reason="edited outside Limen")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True, slots=True, eq=False)
class ChangeErrand:
    """Changes that somebody waits for."""

    change_set: ChangeSet
    done: Future[Commit] = field(default_factory=Future[Commit])


@dataclass(frozen=True, slots=True, eq=False)
class NoticeErrand:
    """Paths at which somebody else may have changed something, and whoever waits for them to be taken up."""

    paths: Sequence[str]
    size: int
    """How many bytes lie there, about."""
    done: Future[int] = field(default_factory=Future[int])


Errand = ChangeErrand | NoticeErrand


class _Answer(Struct):
    """What an errand will hear once the group is durable."""

    errand: Errand
    outcome: Commit | LimenError | None = None


class Group:
    """Stages errands one after another, within a transaction that its owner frames."""

    def __init__(self, ledger: Ledger, folder: Folder, past: Callable[[Document], bytes | None]) -> None:
        self._ledger = ledger
        self._folder = folder
        self._ground = Ground(ledger, folder, past)
        self._stage = Stage(self._ground)
        self._documents: dict[str, Document] = {}
        self._answers: list[_Answer] = []
        self._placings: list[Placing] = []
        self.head = ledger.head()[0]
        """The newest commit, those of this group included."""
        self._first = self.head + 1

    def take(self, errand: Errand) -> None:
        """Stage one errand, or keep why it is refused."""
        try:
            outcome = (
                self._change(errand.change_set) if isinstance(errand, ChangeErrand) else self._notice(errand.paths)
            )
        except LimenError as error:
            outcome = error
        except OSError as error:
            # Nothing has been written yet: a name this disk cannot have, or a file that cannot be read.
            outcome = disk_refusal(error)
        self._answers.append(_Answer(errand, outcome))

    def write(self) -> None:
        """Write waiting files and records; what remains is to commit.

        Raises:
            OSError: a file cannot be written.
        """
        changed = self._stage.changed
        for path, document in changed.items():
            placing, document = self._placing(path, document)
            if placing is not None:
                self._placings.append(placing)
                self._ledger.put_placing(placing)
            if document is not None and document.id in self._documents:
                self._documents[document.id] = document
        self._ledger.put_documents(list(self._documents.values()))

    def place(self) -> bool:
        """Bring the files where they belong, after the commit; False when some could not be."""
        return place_all(self._folder, self._placings)

    def drop(self) -> None:
        """Throw the waiting files away, because the transaction failed."""
        for placing in self._placings:
            if placing.temp:
                self._folder.drop(placing.temp)

    def answer(self) -> None:
        """Tell everyone what became of their errand."""
        for answer in self._answers:
            outcome, errand = answer.outcome, answer.errand
            if isinstance(outcome, LimenError):
                errand.done.set_exception(outcome)
            elif isinstance(errand, NoticeErrand):
                errand.done.set_result(self.head)
            elif outcome is not None:
                errand.done.set_result(outcome)

    def _change(self, change_set: ChangeSet) -> Commit:
        digest = digest_of(change_set) if change_set.idempotency_key else ""
        if digest and (used := self._ledger.find_key(change_set.idempotency_key)):
            if used[0] != digest:
                raise Conflict(
                    "idempotency_key: it was used for other changes; choose another", field="idempotency_key"
                )
            return structs.replace(self._ledger.commit(used[1]), replayed=True)
        self._take_up(paths_of(change_set))
        stage = Stage(self._stage)
        for change in change_set.changes:
            stage.apply(change)
        self._check_obstacles(stage)
        intent = Intent(
            actor=change_set.actor,
            reason=change_set.reason,
            message=change_set.message,
            author=change_set.author,
            email=change_set.email,
        )
        commit = self._accept(stage, intent)
        if digest:
            self._ledger.add_key(change_set.idempotency_key, digest, commit)
        return commit

    def _notice(self, paths: Sequence[str]) -> None:
        self._take_up(paths, is_lenient=True)

    def _take_up(self, paths: Sequence[str], *, is_lenient: bool = False) -> None:
        """Journal what somebody else did at these paths, if anything."""
        foreign = [path for path in paths if path not in self._stage.changed and self._ground.is_foreign(path)]
        if not foreign:
            return
        stage = Stage(self._stage)
        found: dict[str, tuple[bytes, str]] = {}
        for path in dict.fromkeys([*foreign, *self._gone_above(foreign)]):
            there = self._read_foreign(path, is_lenient=is_lenient)
            if isinstance(there, tuple):
                if not self._ground.is_only_touched(path, *there):
                    found[path] = there
            elif there == "gone" and self._stage.find(path) is not None:
                stage.remove(path)
        self._recognise_moves(stage, found)
        for path, (content, stamp) in found.items():
            try:
                stage.put(path, content, stamp=stamp)
            except Conflict as error:
                if not is_lenient:
                    raise
                log.warning("file cannot be taken up", extra={"path": path, "reason": str(error)})
        if stage.changed:
            self._accept(stage, EXTERNAL)

    def _gone_above(self, paths: Sequence[str]) -> Sequence[str]:
        """Documents whose place a folder has taken, because something lies beneath it now."""
        above = {path[:at] for path in paths for at, char in enumerate(path) if char == "/"}
        return [path for path in sorted(above) if self._stage.find(path) is not None and self._ground.is_foreign(path)]

    def _read_foreign(self, path: str, *, is_lenient: bool) -> tuple[bytes, str] | Literal["gone", "unreadable"]:
        try:
            return self._ground.read_foreign(path) or "gone"
        except (Conflict, StoreUnavailable) as error:
            if not is_lenient:
                raise
            log.warning("file cannot be taken up", extra={"path": path, "reason": str(error)})
            return "unreadable"

    def _recognise_moves(self, stage: Stage, found: dict[str, tuple[bytes, str]]) -> None:
        """A file that has gone here and lies there, the same inode with the same content, was moved."""
        gone = [old for path in stage.changed if (old := self._stage.find(path)) is not None]
        by_inode = {_inode(document.stamp): document for document in gone if document.stamp}
        for path, (content, stamp) in list(found.items()):
            old = by_inode.get(_inode(stamp))
            if old is not None and self._stage.find(path) is None and _is_content(content, old):
                del stage.changed[old.path]
                stage.move(old.path, path, content, stamp)
                del found[path], by_inode[_inode(stamp)]

    def _accept(self, stage: Stage, intent: Intent) -> Commit:
        at = timestamp()
        deeds = stage.deeds()
        commit = self._ledger.append(intent, deeds, at)
        for deed in deeds:
            self._keep(deed, commit)
        stage.changed = {
            path: self._documents[found.id] if found and found.id in self._documents else found
            for path, found in stage.changed.items()
        }
        self._stage.absorb(stage)
        self.head = commit.seq
        return commit

    def _keep(self, deed: Deed, commit: Commit) -> None:
        document = deed.document
        is_gone = deed.kind == "deleted"
        if not is_gone:
            self._ledger.add_content(document.checksum, self._stage.content(document), commit.seq)
        self._documents[document.id] = structs.replace(
            document,
            commit_id=commit.id,
            created_at=document.created_at or commit.at,
            updated_at=commit.at,
            deleted_at=commit.at if is_gone else None,
        )

    def _check_obstacles(self, stage: Stage) -> None:
        gone = {path for shelf in (self._stage, stage) for path, found in shelf.changed.items() if found is None}
        for path, found in stage.changed.items():
            if found is not None and (reason := self._ground.obstacle(path, gone)):
                raise Conflict(f"path: {reason}", field="path", path=path)

    def _placing(self, path: str, document: Document | None) -> tuple[Placing | None, Document | None]:
        seen = self._ground.seen(path)
        before = self._ground.find(path)
        if document is None:
            is_news = before is not None or seen.kind == "file"
            return (Placing(path, "", "", seen.stamp, self.head, self._first), None) if is_news else (None, None)
        if before is document:
            return None, document
        stamp = document.stamp
        if before is not None and before.checksum == document.checksum and before.stamp == seen.stamp:
            stamp = before.stamp
        if stamp and stamp == seen.stamp:
            return Placing(path, document.checksum, "", "", self.head, self._first), structs.replace(
                document, stamp=stamp
            )
        temp = f"{self.head}-{ulid().lower()}"
        placing = Placing(path, document.checksum, temp, seen.stamp, self.head, self._first)
        # Noted first, so that half a file is thrown away too.
        self._placings.append(placing)
        stamp = self._folder.write_temp(temp, self._stage.content(document), seen.mode)
        self._placings.pop()
        return placing, structs.replace(document, stamp=stamp)


def place_all(folder: Folder, placings: Sequence[Placing]) -> bool:
    """Make every path hold what was committed; False when some cannot yet."""
    # What leaves makes room for what comes.
    ordered = sorted(placings, key=lambda placing: bool(placing.checksum))
    late = [placing for placing in ordered if not _put_in_place(folder, placing)]
    return not late


def _put_in_place(folder: Folder, placing: Placing) -> bool:
    """Make a path hold what was committed, unless somebody else has been there since; False when it cannot be."""
    try:
        seen = folder.look(placing.path)
        if not placing.checksum:
            if placing.prior and seen.stamp == placing.prior:
                folder.remove(placing.path)
        elif not placing.temp or not folder.is_waiting(placing.temp):
            return True
        elif seen.stamp == placing.prior:
            folder.place(placing.temp, placing.path)
        else:
            # Their change comes after ours and is journalled when it is noticed; both are in the history.
            log.warning("file was edited while it was being replaced", extra={"path": placing.path})
            folder.drop(placing.temp)
    except OSError as error:
        log.warning("file cannot be placed yet", extra={"path": placing.path, "reason": str(error)})
        return False
    return True


def disk_refusal(error: OSError) -> LimenError:
    """What a failure of the disk means for the brain."""
    if error.errno in _FULL:
        return StoreFull("the disk is full: free some space and try again")
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return StoreUnavailable("the brain's folder takes no writes: mount it writable or mend its permissions")
    return StoreUnavailable(f"the brain's folder cannot be written: {error}", reason=type(error).__name__)


def _inode(stamp: str) -> str:
    return stamp.partition(":")[0]


def _is_content(content: bytes, document: Document) -> bool:
    return len(content) == document.byte_size and sha256(content).hexdigest() == document.checksum
