"""The documents of a brain as files that anyone may edit, with a journal that accepts every change (DocumentStore)."""

import logging
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from threading import Condition

from limen.brain.documents.chain import check_content
from limen.brain.documents.document import Document
from limen.brain.documents.gate import Gate, boot_id
from limen.brain.documents.ground import is_unplaced
from limen.brain.documents.grouping import ChangeErrand, NoticeErrand, disk_refusal
from limen.brain.documents.journal import Journal
from limen.brain.documents.listing import list_folder
from limen.brain.documents.noticing import Watcher, find_suspects, is_document_path
from limen.brain.documents.placing import OWN, Folder, make_folder
from limen.brain.documents.settling import Settler, settle
from limen.brain.documents.staging import check_change_set
from limen.brain.documents.verifying import verify_vault
from limen.brain.documents.writing import Writer
from limen.brain.paths import check_path
from limen.brain.ports import LIST_LIMIT
from limen.brain.records import BrainId, ChangeEvent, ChangeSet, Commit, CommitId, DocumentId, DocumentRecord, FileStat
from limen.clock import monotonic
from limen.errors import LimenError, NotFound, StoreUnavailable

__all__ = ["Vault", "open_vault"]

log = logging.getLogger(__name__)

PATIENCE_S = 30.0
POLL_S = 0.05
_READ_TRIES = 20


def open_vault(
    root: Path,
    brain_id: BrainId,
    *,
    past: Callable[[str], bytes] | None = None,
    patience_s: float = PATIENCE_S,
    boot: str | None = None,
) -> "Vault":
    """Open a brain's folder, made if need be, and finish what a process that died there had begun.

    `past` gives the bytes of a git blob. `boot` names this start of the machine, which is found out by itself.
    On a disk that takes no writes the vault can be read.

    Raises:
        JournalBroken: the journal is damaged.
        StoreFull: there is no room even to open it.
        StoreUnavailable: the folder cannot be used.
    """
    try:
        make_folder(root)
    except OSError as error:
        raise StoreUnavailable(f"the brain's folder cannot be made: {error}") from error
    return Vault(root, brain_id, past, patience_s, boot_id() if boot is None else boot)


class Vault:
    """A brain's documents; any thread may call it."""

    def __init__(
        self, root: Path, brain_id: BrainId, past: Callable[[str], bytes] | None, patience_s: float, boot: str
    ) -> None:
        self.root = root
        self.past = past
        """Gives the bytes of a git blob, once something that reads git has been put here."""
        self._brain_id = brain_id
        self._moved = Condition()
        self._head = 0
        self._callbacks: list[Callable[[int], object]] = []
        self._watcher: Watcher | None = None
        self._oddities: set[str] = set()
        self._is_closed = False
        own = root / OWN
        self._folder = Folder(root)
        self._gate: Gate | None = None
        self._writer: Writer | None = None
        self._settler: Settler | None = None
        try:
            if self._folder.is_writable:
                self._gate = Gate(own / "writer.lock", boot, patience_s)
                self._writer = Writer(
                    own / "journal.db", self._folder, self._gate, self._content_anywhere, self._note_commit
                )
                self._writer.start()
            self._journal = Journal(own / "journal.db", is_writable=self._writer is not None)
            self._head = self._journal.head()
        except BaseException:
            if self._gate is not None:
                self._gate.close()
            self._folder.close()
            raise
        if self._writer is not None:
            self._settler = Settler(self._journal, self._folder, own / "settle.lock", self._retry_placing)
            self._settler.start()

    def read(self, path: str) -> bytes:
        """What the document holds now, also when others have edited its file."""
        check_path(path)
        for _ in range(_READ_TRIES):
            document = self._journal.find(path)
            found = self._read_file(path)
            if found is not None and document is not None and found[1] == document.stamp:
                return found[0]
            placing = self._journal.placing(path)
            if is_unplaced(self._folder, placing, self._folder.look(path)):
                if document is None:
                    break
                content = self._journal.content(document.checksum)
                if content is not None:
                    return content
            elif self._journal.find(path) == document and self._read_file(path) == found:
                # Nobody of ours is writing: whoever edits the file has the last word.
                if found is None or (document is None and not is_document_path(path)):
                    break
                return found[0]
        raise NotFound(f"path: there is no document {path}", field="path", path=path)

    def read_at(self, path: str, commit: CommitId) -> bytes:
        """What the document held after this commit."""
        check_path(path)
        found = self._journal.find_commit(commit)
        if found is None:
            raise NotFound(f"commit: there is no commit {commit}", field="commit")
        past = self._journal.past(path, found.seq)
        if past is None:
            raise NotFound(f"path: there was no document {path} then", field="path", path=path)
        content = self._journal.content(past.checksum)
        if content is None:
            content = self._content_in_files(past.checksum)
        if content is None and past.git_oid and self.past is not None:
            content = check_content(past.checksum, self.past(past.git_oid))
        if content is None:
            raise NotFound(f"path: what {path} held then is not kept any more", field="path", path=path)
        return content

    def exists(self, path: str) -> bool:
        """Whether there is a document or a folder at this path."""
        check_path(path)
        return self._journal.find(path) is not None or self._journal.has_beneath(path)

    def stat(self, path: str) -> FileStat:
        """Size and time of a document or folder."""
        check_path(path)
        document = self._journal.find(path)
        if document is not None:
            return FileStat(path=path, size=document.byte_size, mtime=document.updated_at)
        times = [updated_at for _, _, updated_at in self._journal.beneath(path)]
        if not times:
            raise NotFound(f"path: there is neither a document nor a folder {path}", field="path", path=path)
        return FileStat(path=path, size=0, mtime=max(times), is_dir=True)

    def list(
        self, folder: str = "", *, recursive: bool = False, glob: str = "", include_generated: bool = False
    ) -> Sequence[FileStat]:
        """What lies in a folder, sorted by path."""
        if folder:
            check_path(folder, field="dir")
        return list_folder(
            self._journal, folder, recursive=recursive, glob=glob, include_generated=include_generated, limit=LIST_LIMIT
        )

    def get(self, path: str) -> DocumentRecord:
        """The record of the document that lies here."""
        check_path(path)
        document = self._journal.find(path)
        if document is None:
            raise NotFound(f"path: there is no document {path}", field="path", path=path)
        return document.record(self._brain_id)

    def find(self, document: DocumentId) -> DocumentRecord | None:
        """The record of this document, also when it was deleted."""
        found = self._journal.find_id(document)
        return found.record(self._brain_id) if found else None

    def find_content(self, checksum: str) -> Sequence[DocumentRecord]:
        """The documents that hold exactly this content now."""
        return [found.record(self._brain_id) for found in self._journal.with_content(checksum)]

    def records(self, *, after: str = "", limit: int = LIST_LIMIT) -> Sequence[DocumentRecord]:
        """The records of what is there, in the order of their paths."""
        return [found.record(self._brain_id) for found in self._journal.after(after, limit)]

    def count(self) -> int:
        """How many documents there are."""
        return self._journal.count()

    def commit(self, change_set: ChangeSet) -> Commit:
        """Make these changes, all or none."""
        check_change_set(change_set)
        errand = ChangeErrand(change_set)
        self._get_writer().submit(errand)
        return errand.done.result()

    def commit_each(self, change_sets: Sequence[ChangeSet]) -> Sequence[Commit | LimenError]:
        """Make each of these, on its own and all in one go; what became of each, in their order."""
        waiting = [self._submitted(change_set) for change_set in change_sets]
        return [_outcome(errand) if isinstance(errand, ChangeErrand) else errand for errand in waiting]

    def _submitted(self, change_set: ChangeSet) -> ChangeErrand | LimenError:
        errand = ChangeErrand(change_set)
        try:
            check_change_set(change_set)
            self._get_writer().submit(errand)
        except LimenError as error:
            return error
        return errand

    def head(self) -> int:
        """The number of the newest commit."""
        return self._journal.head()

    def commit_id(self, seq: int) -> CommitId | None:
        """The id of the commit of this number."""
        return self._journal.commit_id(seq)

    def notice(self) -> int:
        """Take up what others did to the files behind our back."""
        suspects = find_suspects(self._folder, self._journal.stamps(), self._oddities)
        if not suspects or self._writer is None:
            return self.head()
        writer = self._get_writer()
        errands = [NoticeErrand(batch.paths, batch.size) for batch in suspects]
        for errand in errands:
            writer.submit(errand)
        return max(errand.done.result() for errand in errands)

    def commits(self, *, path: str = "", before: int | None = None, limit: int = 100) -> Sequence[Commit]:
        """Accepted changes, newest first."""
        if path:
            check_path(path)
        return self._journal.commits(path, before, limit)

    def find_commit(self, commit: CommitId) -> Commit | None:
        """The commit of this id, or of the one id that begins so."""
        return self._journal.find_commit(commit)

    def events(self, *, after: int = 0, limit: int = 1000) -> Sequence[tuple[int, ChangeEvent]]:
        """What changed in the commits numbered above `after`, oldest first."""
        events: list[tuple[int, ChangeEvent]] = []
        for commit in self._journal.commits_above(after, limit):
            if len(events) >= limit:
                break
            events.extend((commit.seq, event) for event in _events_of(commit))
        return events

    def wait(self, after: int, timeout_s: float) -> int:
        """Wait until the head is above `after`, whichever process moves it, or the time is over."""
        deadline = monotonic() + timeout_s
        with self._moved:
            while (head := self._journal.head()) <= after and not self._is_closed:
                left_s = deadline - monotonic()
                if left_s <= 0:
                    break
                self._moved.wait(min(POLL_S, left_s))
        return head

    def on_committed(self, callback: Callable[[int], object]) -> None:
        """Have this called with the new head, in the writer's thread, before anyone hears that a commit is made."""
        self._callbacks.append(callback)

    def watch(self) -> None:
        """Notice changes of files soon after they happen, until this is closed."""
        if self._watcher is None:
            self._watcher = Watcher(self.root, self._notice_quietly)
            self._watcher.start()

    def unfollowed(self, limit: int = 1000) -> Sequence[Commit]:
        """Commits that git does not carry yet, oldest first."""
        return self._journal.unfollowed(limit)

    def followed(self) -> tuple[int, str]:
        """The newest commit that git carries, and the git commit that does."""
        return self._journal.followed()

    def content(self, checksum: str) -> bytes | None:
        """The bytes of this digest, as long as the journal holds them; it does until git has followed."""
        return self._journal.content(checksum)

    def mark_followed(self, seqs: Sequence[int], git_sha: str, blobs: Mapping[str, str]) -> None:
        """Note that git carries these commits and, reachable and durable, these contents (checksum -> blob)."""
        self._journal.mark_followed(seqs, git_sha, blobs)
        if self._settler is not None:
            self._settler.wake()

    def settle(self) -> bool:
        """Have the disk keep some of what was placed, now instead of soon; False when there was nothing to do."""
        try:
            return settle(self._journal, self._folder)
        except OSError as error:
            raise disk_refusal(error) from error

    def verify(self) -> Sequence[str]:
        """What is wrong with journal and files, one line each; nothing when all is well."""
        return verify_vault(self._journal, self._folder)

    def close(self) -> None:
        """Let go of everything; what was acknowledged stays."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._watcher is not None:
            self._watcher.stop()
        if self._writer is not None:
            self._writer.stop()
        if self._settler is not None:
            self._settler.stop()
        with self._moved:
            self._moved.notify_all()
        self._journal.close()
        if self._writer is not None:
            self._writer.close()
        if self._gate is not None:
            self._gate.close()
        self._folder.close()

    def _get_writer(self) -> Writer:
        if self._is_closed:
            raise StoreUnavailable("the brain is closed")
        if self._writer is None:
            raise StoreUnavailable("the brain's folder takes no writes: mount it writable or mend its permissions")
        return self._writer

    def _read_file(self, path: str) -> tuple[bytes, str] | None:
        try:
            return self._folder.read(path)
        except OSError as error:
            raise StoreUnavailable(f"the file {path} cannot be read: {error}", path=path) from error

    def _note_commit(self, head: int) -> None:
        if head == self._head:
            return
        self._head = head
        for callback in self._callbacks:
            try:
                callback(head)
            except Exception:
                # The change is made whatever becomes of what is derived from it; that catches up by itself.
                log.exception("derived state did not follow", extra={"head": head})
        with self._moved:
            self._moved.notify_all()
        if self._settler is not None:
            self._settler.wake()

    def _notice_quietly(self) -> None:
        try:
            self.notice()
        except Exception:
            # The next change, or the next look, tries again.
            log.exception("files could not be looked through")

    def _retry_placing(self) -> None:
        if not self._is_closed and self._writer is not None:
            self._writer.submit(NoticeErrand((), 0))

    def _content_anywhere(self, document: Document) -> bytes | None:
        past = self._journal.past(document.path, 2**62)
        if past is None or past.checksum != document.checksum or not past.git_oid or self.past is None:
            return self._content_in_files(document.checksum)
        return check_content(past.checksum, self.past(past.git_oid))

    def _content_in_files(self, checksum: str) -> bytes | None:
        for document in self._journal.with_content(checksum):
            found = self._read_file(document.path)
            if found is not None and sha256(found[0]).hexdigest() == checksum:
                return found[0]
        return None


def _outcome(errand: ChangeErrand) -> Commit | LimenError:
    try:
        return errand.done.result()
    except LimenError as error:
        return error


def _events_of(commit: Commit) -> Sequence[ChangeEvent]:
    return [
        ChangeEvent(
            id=f"{commit.seq:012}-{place:04}",
            kind=operation.kind,
            path=operation.path,
            old_path=operation.old_path,
            reason=commit.reason,
            when=commit.at,
        )
        for place, operation in enumerate(commit.operations)
    ]
