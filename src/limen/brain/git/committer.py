"""One step of following: journal commits become git commits, durable before the journal hears of it.

Only the elected process of a brain may run it. It needs no lock of git's for the history; see `branch` for those.
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from limen.brain.git.branch import Branch
from limen.brain.git.locks import replace_file
from limen.brain.git.objects import EXECUTABLE, FILE, Entry, commit_bytes, is_trackable
from limen.brain.git.objectwriter import ObjectWriter
from limen.brain.git.packroom import FULL_BYTES, PackRoom
from limen.brain.git.plan import COMMITTER, effects_of, folds, message_of, person_of, signed, trailers_of
from limen.brain.git.ports import FollowedJournal
from limen.brain.git.repository import Head, MissingObject, Repository, TreeCache, open_repository
from limen.brain.git.standing import OUR_HEAD, PUBLISHED, Standing, stand, stand_anew, taken_back
from limen.brain.records import Commit, CommitId
from limen.clock import timestamp
from limen.errors import NotFound, StoreUnavailable
from limen.ids import ulid

__all__ = ["Committer", "Step"]

log = logging.getLogger(__name__)

STEP_COMMITS = 512
FLUSH_BYTES = 32 << 20
_RECOVERED_COMMITS = 100_000


class Step(NamedTuple):
    """What one step did: journal commits taken with their changes, git commits made, and why the branch lacks them."""

    followed: int = 0
    changes: int = 0
    made: int = 0
    unpublished: str = ""


class _Made(NamedTuple):
    """A git commit that waits for its pack to be durable."""

    oid: bytes
    seqs: Sequence[int]
    blobs: Mapping[str, str]


class Committer:
    """Turns a journal into the git history of one brain's folder."""

    def __init__(self, journal: FollowedJournal, root: Path) -> None:
        self._journal = journal
        self._root = root
        self._token = ""
        """Names the repository as we know it: another folder may come under the same path."""
        self._trees = TreeCache()
        self._roots: dict[bytes, bytes] = {}
        self._room: PackRoom
        self._writer: ObjectWriter
        self._branch: Branch

    def step(self, *, fold: int = 1) -> Step:
        """Follow the oldest commits that git lacks, up to `fold` of them in one git commit.

        Raises:
            StoreUnavailable: repository or journal cannot be used now.
        """
        try:
            return self._step(fold, damaged=False)
        except MissingObject as error:
            log.warning("git lacks objects; going on from what is whole", extra={"reason": str(error)})
        try:
            self._forget()
            return self._step(fold, damaged=True)
        except MissingObject as error:
            raise StoreUnavailable(f"git: {error}", reason="git") from error

    def _step(self, fold: int, *, damaged: bool) -> Step:
        try:
            repository = self._open()
            head = repository.head()
            if damaged:
                standing = stand_anew(repository, head, self._journal)
            else:
                standing = stand(repository, head, self._journal.followed()[1])
            commits = self._journal.unfollowed(STEP_COMMITS)
            made = self._begin(repository, standing, commits)
            newest = made[-1].oid if made else standing.parent
            for group in folds(commits, fold):
                made.append(self._commit(repository, newest, group))
                newest = made[-1].oid
            self._make_durable(repository, made, standing)
        except OSError as error:
            self._forget()
            raise StoreUnavailable(f"git: {error}", reason="git") from error
        unpublished = "" if newest is None else self._publish(repository, head, newest, standing.parent)
        return Step(len(commits), sum(len(commit.operations) for commit in commits), len(made), unpublished)

    def _open(self) -> Repository:
        repository = open_repository(self._root, self._trees)
        own = repository.folder / "limen"
        token = own / "token"
        if not self._token or not token.exists() or token.read_text("ascii", "replace") != self._token:
            own.mkdir(exist_ok=True)
            made = ulid()
            replace_file(token, made.encode(), own / "token-draft", durable=False)
            self._trees = repository.trees = TreeCache()
            self._room = PackRoom(repository.folder / "objects" / "pack", own / "packs.json")
            self._room.tidy()
            self._writer = ObjectWriter(self._room.resume())
            self._branch = Branch(self._root, repository.folder)
            if repository.find_ref(PUBLISHED) is None:
                # It is not synced, and git would stumble over one that a power cut left empty.
                (repository.folder / PUBLISHED).unlink(missing_ok=True)
            self._recover(repository)
            self._token = made
        return repository

    def _forget(self) -> None:
        """Look at everything afresh next time."""
        self._token = ""
        self._trees = TreeCache()

    def _recover(self, repository: Repository) -> None:
        """Tell the journal what git has already, when a process was killed between the two."""
        missing = {commit.id: commit for commit in self._journal.unfollowed(_RECOVERED_COMMITS)}
        carriers: list[tuple[bytes, list[Commit]]] = []
        at = repository.find_ref(OUR_HEAD)
        while missing and at is not None:
            try:
                message = repository.read(at, "commit").decode("utf-8", "replace").partition("\n\n")[2]
            except MissingObject:
                break
            carried = trailers_of(message)
            found = [missing.pop(CommitId(one)) for one in carried if one in missing]
            if carried and not found:
                break
            carriers.append((at, found))
            at = repository.parent_of(at)
        # Oldest first, as ever: whoever is killed here leaves marked ones below and open ones above.
        for at, found in reversed(carriers):
            if found:
                self._journal.mark_followed([one.seq for one in found], at.hex(), self._blobs_in(repository, at, found))

    def _blobs_in(self, repository: Repository, commit: bytes, carried: Sequence[Commit]) -> dict[str, str]:
        root = repository.root_of(commit)
        blobs: dict[str, str] = {}
        for one in carried:
            for path, checksum in effects_of(one.operations).items():
                entry = repository.find(root, path.encode()) if checksum else None
                if entry is not None and repository.has(entry.oid):
                    blobs[checksum] = entry.oid.hex()
        return blobs

    def _begin(self, repository: Repository, standing: Standing, commits: Sequence[Commit]) -> list[_Made]:
        """The commits that must come before the journal's: what the branch missed, took back, or all that is here."""
        made: list[_Made] = []
        parent, root = standing.parent, standing.root
        for former in standing.replayed:
            made.append(self._replay(repository, former, parent, root))
            parent, root = made[-1].oid, self._roots[made[-1].oid]
        edits: dict[bytes, Entry | None] = {}
        subject = "Keep what the files hold"
        if standing.begins:
            is_lost = parent is None and self._journal.followed()[0] > 0
            subject = "Begin anew: the git history was lost" if is_lost else standing.begins
            edits = self._documents(repository, root, commits)
        elif standing.our_root is not None and root is not None:
            edits = taken_back(self._root, repository, standing.our_root, root)
        if edits:
            person = signed(COMMITTER, timestamp())
            made.append(self._put_commit(repository, parent, root, edits, f"{person}\n{person}", f"{subject}\n"))
        return made

    def _replay(self, repository: Repository, former: bytes, parent: bytes | None, root: bytes | None) -> _Made:
        before = repository.parent_of(former)
        before_root = None if before is None else repository.root_of(before)
        edits = {one.path: one.after for one in repository.changes(before_root, repository.root_of(former))}
        headers, _, message = repository.read(former, "commit").decode().partition("\n\n")
        people = [line.partition(" ")[2] for line in headers.split("\n") if line.startswith(("author ", "committer "))]
        seqs = [found.seq for one in trailers_of(message) if (found := self._journal.find_commit(CommitId(one)))]
        made = self._put_commit(repository, parent, root, edits, "\n".join(people), message)
        return made._replace(seqs=seqs)

    def _documents(
        self, repository: Repository, root: bytes | None, commits: Sequence[Commit]
    ) -> dict[bytes, Entry | None]:
        """Every document that git does not hold as it is, but for those that the next commits bring."""
        coming = {path for commit in commits for path in effects_of(commit.operations)}
        edits: dict[bytes, Entry | None] = {}
        after = ""
        while page := self._journal.records(after=after, limit=1000):
            for record in page:
                if record.path in coming or not is_trackable(record.path):
                    continue
                try:
                    edits |= self._put(repository, root, record.path, self._journal.read(record.path))
                except NotFound:
                    # It was deleted meanwhile; the commit that tells so comes later.
                    continue
            after = page[-1].path
        return edits

    def _put(self, repository: Repository, root: bytes | None, path: str, data: bytes) -> dict[bytes, Entry]:
        name = path.encode()
        was = repository.find(root, name)
        oid = self._writer.put_blob(repository, data, None if was is None else was.oid)
        self._flush_when_big()
        mode = EXECUTABLE if was is not None and was.mode == EXECUTABLE else FILE
        entry = Entry(mode, oid)
        return {} if was == entry else {name: entry}

    def _commit(self, repository: Repository, parent: bytes | None, group: Sequence[Commit]) -> _Made:
        root = None if parent is None else self._root_of(repository, parent)
        edits: dict[bytes, Entry | None] = {}
        blobs: dict[str, str] = {}
        for commit in group:
            for path, checksum in effects_of(commit.operations).items():
                if not is_trackable(path):
                    continue
                name = path.encode()
                if not checksum:
                    edits[name] = None
                    continue
                content = self._journal.content(checksum)
                if content is None:
                    raise StoreUnavailable(f"the journal lacks a content of commit {commit.seq}", checksum=checksum)
                edits.pop(name, None)
                put = self._put(repository, root, path, content)
                edits |= put
                entry = put.get(name) or repository.find(root, name)
                if entry is not None:
                    blobs[checksum] = entry.oid.hex()
        people = f"{signed(person_of(group[-1]), group[-1].at)}\n{signed(COMMITTER, group[-1].at)}"
        made = self._put_commit(repository, parent, root, edits, people, message_of(group))
        return made._replace(seqs=[commit.seq for commit in group], blobs=blobs)

    def _put_commit(  # noqa: PLR0913 - what a git commit is made of
        self,
        repository: Repository,
        parent: bytes | None,
        root: bytes | None,
        edits: Mapping[bytes, Entry | None],
        people: str,
        message: str,
    ) -> _Made:
        made_root = self._writer.apply(repository, root, edits)
        author, _, committer = people.partition("\n")
        parents = [] if parent is None else [parent]
        oid = self._writer.put_commit(commit_bytes(made_root, parents, author, committer, message))
        self._roots = {oid: made_root}
        return _Made(oid, (), {})

    def _root_of(self, repository: Repository, commit: bytes) -> bytes:
        return self._roots.get(commit) or repository.root_of(commit)

    def _flush_when_big(self) -> None:
        if self._writer.pack.size > FLUSH_BYTES:
            self._room.publish(self._writer.pack)
            self._writer = ObjectWriter(self._room.resume())

    def _make_durable(self, repository: Repository, made: Sequence[_Made], standing: Standing) -> None:
        if not made:
            return
        self._room.publish(self._writer.pack)
        for oid, data in self._writer.fresh().items():
            if repository.read(oid, "blob") != data:
                raise MissingObject(f"blob {oid.hex()} reads differently than it was written")
        repository.root_of(made[-1].oid)
        if standing.kept is not None:
            self._write_ref(repository, f"refs/limen/kept/{standing.kept.hex()}", standing.kept, durable=True)
        self._write_ref(repository, OUR_HEAD, made[-1].oid, durable=True)
        self._room.release()
        self._writer.settle()
        for one in made:
            if one.seqs:
                self._journal.mark_followed(one.seqs, one.oid.hex(), one.blobs)
        if self._writer.pack.size >= FULL_BYTES:
            self._writer = ObjectWriter(self._room.resume())
            self._room.join_full()

    def _write_ref(self, repository: Repository, name: str, oid: bytes, *, durable: bool) -> None:
        """Set a ref of our own; nobody else writes it, so it needs none of git's locks."""
        draft = repository.folder / "limen" / "own-ref-draft"
        replace_file(repository.folder / name, f"{oid.hex()}\n".encode(), draft, durable=durable)

    def _publish(self, repository: Repository, head: Head, newest: bytes, former: bytes | None) -> str:
        try:
            reason = self._branch.publish(repository, head, newest, former)
            if not reason and repository.find_ref(PUBLISHED) != newest:
                self._write_ref(repository, PUBLISHED, newest, durable=False)
        except OSError as error:
            return f"the branch cannot be written: {error}"
        return reason
