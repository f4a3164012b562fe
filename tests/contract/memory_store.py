"""The simplest document store there can be: everything in memory, copied for each change; Vault is held against it."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec

from limen.brain.paths import check_path, is_generated, matches
from limen.brain.ports import LIST_LIMIT
from limen.brain.records import (
    Append,
    BrainId,
    Change,
    ChangeEvent,
    ChangeSet,
    Commit,
    CommitId,
    Delete,
    DocumentId,
    DocumentRecord,
    FileStat,
    Operation,
    Rename,
    Write,
)
from limen.clock import timestamp
from limen.errors import Conflict, LimenError, NotFound


@dataclass(frozen=True)
class Kept:
    """A document and what it holds."""

    record: DocumentRecord
    content: bytes


@dataclass
class MemoryStore:
    """A DocumentStore without a disk; titles are file names, as nobody compares them."""

    present: dict[str, Kept] = field(default_factory=dict[str, Kept])
    ever: dict[DocumentId, DocumentRecord] = field(default_factory=dict[DocumentId, DocumentRecord])
    log: list[tuple[Commit, dict[str, Kept]]] = field(default_factory=list[tuple[Commit, dict[str, Kept]]])
    keys: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    ids: int = 0

    def read(self, path: str) -> bytes:
        return self._get(path).content

    def read_at(self, path: str, commit: CommitId) -> bytes:
        found = self.find_commit(commit)
        if found is None or path not in (state := self.log[found.seq - 1][1]):
            raise NotFound("nothing then")
        return state[path].content

    def exists(self, path: str) -> bool:
        check_path(path)
        return path in self.present or any(name.startswith(f"{path}/") for name in self.present)

    def stat(self, path: str) -> FileStat:
        if not self.exists(path):
            raise NotFound("neither")
        if path in self.present:
            record = self.present[path].record
            return FileStat(path=path, size=record.byte_size, mtime=record.updated_at)
        times = [kept.record.updated_at for name, kept in self.present.items() if name.startswith(f"{path}/")]
        return FileStat(path=path, size=0, mtime=max(times), is_dir=True)

    def list(
        self, folder: str = "", *, recursive: bool = False, glob: str = "", include_generated: bool = False
    ) -> Sequence[FileStat]:
        prefix = f"{check_path(folder)}/" if folder else ""
        beneath = [name for name in self.present if name.startswith(prefix)]
        shown = beneath if recursive else {prefix + name[len(prefix) :].split("/")[0] for name in beneath}
        wanted = [
            name
            for name in sorted(shown)
            if (include_generated or not is_generated(name)) and (not glob or matches(name.split("/")[-1], glob))
        ]
        return [self.stat(name) for name in wanted][:LIST_LIMIT]

    def get(self, path: str) -> DocumentRecord:
        return self._get(path).record

    def find(self, document: DocumentId) -> DocumentRecord | None:
        return self.ever.get(document)

    def find_content(self, checksum: str) -> Sequence[DocumentRecord]:
        return [record for record in self.records() if record.checksum_sha256 == checksum]

    def records(self, *, after: str = "", limit: int = LIST_LIMIT) -> Sequence[DocumentRecord]:
        return [self.present[path].record for path in sorted(self.present) if path > after][:limit]

    def count(self) -> int:
        return len(self.present)

    def commit(self, change_set: ChangeSet) -> Commit:
        digest = repr(change_set.changes)
        if change_set.idempotency_key in self.keys:
            known, seq = self.keys[change_set.idempotency_key]
            if known != digest:
                raise Conflict("other changes")
            return msgspec.structs.replace(self.log[seq - 1][0], replayed=True)
        state = dict(self.present)
        for change in change_set.changes:
            self._apply(state, change)
        return self._accept(state, change_set, digest)

    def commit_each(self, change_sets: Sequence[ChangeSet]) -> Sequence[Commit | LimenError]:
        outcomes: list[Commit | LimenError] = []
        for change_set in change_sets:
            try:
                outcomes.append(self.commit(change_set))
            except LimenError as error:
                outcomes.append(error)
        return outcomes

    def head(self) -> int:
        return len(self.log)

    def commit_id(self, seq: int) -> CommitId | None:
        return self.log[seq - 1][0].id if 0 < seq <= len(self.log) else None

    def notice(self) -> int:
        return self.head()

    def commits(self, *, path: str = "", before: int | None = None, limit: int = 100) -> Sequence[Commit]:
        owner = self.present[path].record.id if path in self.present else None
        found = [
            commit
            for commit, _ in reversed(self.log)
            if (before is None or commit.seq < before)
            and (not path or any(path in (op.path, op.old_path) or op.document_id == owner for op in commit.operations))
        ]
        return found[:limit]

    def find_commit(self, commit: CommitId) -> Commit | None:
        found = [known for known, _ in self.log if commit and known.id.startswith(commit)]
        return found[0] if len(found) == 1 else None

    def events(self, *, after: int = 0, limit: int = 1000) -> Sequence[tuple[int, ChangeEvent]]:
        found: list[tuple[int, ChangeEvent]] = []
        for commit, _ in self.log[after:]:
            if len(found) >= limit:
                break
            for place, op in enumerate(commit.operations):
                event = ChangeEvent(
                    id=f"{commit.seq:012}-{place:04}",
                    kind=op.kind,
                    path=op.path,
                    old_path=op.old_path,
                    reason=commit.reason,
                    when=commit.at,
                )
                found.append((commit.seq, event))
        return found

    def wait(self, after: int, timeout_s: float) -> int:
        return self.head()

    def close(self) -> None:
        pass

    def _get(self, path: str) -> Kept:
        check_path(path)
        if path not in self.present:
            raise NotFound("no such document")
        return self.present[path]

    def _apply(self, state: dict[str, Kept], change: Change) -> None:
        check_path(change.path)
        here = state.get(change.path)
        checksum = here.record.checksum_sha256 if here else ""
        if change.expected not in (None, checksum):
            raise Conflict("not as expected", checksum_sha256=checksum)
        match change:
            case Write():
                self._put(state, change.path, change.content)
            case Append():
                self._put(state, change.path, (here.content if here else b"") + change.content)
            case Delete():
                if state.pop(change.path, None) is None:
                    raise NotFound("no such document")
            case Rename():
                moved = state.pop(change.path, None)
                if moved is None:
                    raise NotFound("no such document")
                if change.to == change.path:
                    state[change.path] = moved
                    return
                self._check_room(state, check_path(change.to))
                state[change.to] = replace(moved, record=msgspec.structs.replace(moved.record, path=change.to))

    def _put(self, state: dict[str, Kept], path: str, content: bytes) -> None:
        self._check_room(state, path)
        self.ids += 1
        before = state[path].record if path in state else None
        record = DocumentRecord(
            id=before.id if before else DocumentId(f"doc_{self.ids}"),
            brain_id=BrainId("b"),
            title=path,
            path=path,
            source="ingest",
            content_type="text/markdown",
            byte_size=len(content),
            checksum_sha256=hashlib.sha256(content).hexdigest(),
            metadata={},
            commit_sha=CommitId(""),
            created_at=before.created_at if before else "",
            updated_at="",
        )
        state[path] = Kept(record, content)

    def _check_room(self, state: dict[str, Kept], path: str) -> None:
        if path in state:
            return
        parts = path.split("/")
        if any("/".join(parts[:n]) in state for n in range(1, len(parts))):
            raise Conflict("a document is in the way")
        if any(name.startswith(f"{path}/") for name in state):
            raise Conflict("a folder is in the way")

    def _accept(self, state: dict[str, Kept], change_set: ChangeSet, digest: str) -> Commit:
        seq, at = len(self.log) + 1, timestamp()
        before = {kept.record.id: kept for kept in self.present.values()}
        after = {kept.record.id: kept for kept in state.values()}
        commit_id = CommitId(hashlib.sha256(f"{seq}{digest}".encode()).hexdigest())
        operations: list[Operation] = []
        for key in before.keys() - after.keys():
            operations.append(Operation(kind="deleted", path=before[key].record.path, document_id=key))
            gone = msgspec.structs.replace(before[key].record, deleted_at=at, updated_at=at, commit_sha=commit_id)
            self.ever[key] = gone
        for key, kept in after.items():
            old = before.get(key)
            if old is kept:
                continue
            is_moved = old is not None and old.record.path != kept.record.path
            record = msgspec.structs.replace(
                kept.record, created_at=kept.record.created_at or at, updated_at=at, commit_sha=commit_id
            )
            state[record.path] = Kept(record, kept.content)
            self.ever[key] = record
            operations.append(
                Operation(
                    kind="renamed" if is_moved else "updated" if old else "created",
                    path=record.path,
                    old_path=old.record.path if old and is_moved else "",
                    document_id=key,
                    checksum_sha256=record.checksum_sha256,
                    byte_size=record.byte_size,
                )
            )
        parent = self.log[-1][0].id if self.log else CommitId("")
        commit = Commit(
            seq=seq,
            id=commit_id,
            parent=parent,
            at=at,
            actor=change_set.actor,
            reason=change_set.reason,
            message=change_set.message,
            author=change_set.author,
            email=change_set.email,
            operations=operations,
        )
        self.present = state
        self.log.append((commit, dict(state)))
        if change_set.idempotency_key:
            self.keys[change_set.idempotency_key] = (digest, seq)
        return commit
