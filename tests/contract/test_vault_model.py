"""The vault does what the oracle does, whatever sets of changes, edits behind its back and restarts come in turn."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from limen.brain.documents.vault import Vault, open_vault
from limen.brain.records import Append, BrainId, Change, ChangeSet, Commit, Delete, Rename, Write
from limen.errors import LimenError
from tests.contract.memory_store import MemoryStore

PATHS = ("a", "b", "a/x.md", "a/y.md", "b/x.md", "c.md", "d/e/f.md")
paths = st.sampled_from(PATHS)
contents = st.sampled_from([b"", b"one", b"two", b"# three\n"])
expectations = st.sampled_from([None, None, None, None, None, "", "now", "now", "0" * 64])
writes = st.builds(Write, paths, contents, expected=expectations)
# Most sets must succeed, or nothing is ever there to be moved.
wanted = st.one_of(
    writes,
    writes,
    writes,
    st.builds(Append, paths, contents, expectations),
    st.builds(Append, paths, contents, expectations),
    st.builds(Delete, paths, expectations),
    st.builds(Rename, paths, paths, expectations),
    st.builds(Rename, paths, paths, expectations),
)


class Model(RuleBasedStateMachine):
    """Two stores side by side."""

    def __init__(self) -> None:
        super().__init__()
        # In memory where that can be: thousands of syncs say nothing here.
        memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self.root = Path(tempfile.mkdtemp(prefix="limen-model-", dir=memory))
        self.vault: Vault = open_vault(self.root, BrainId("b"))
        self.oracle = MemoryStore()

    def teardown(self) -> None:
        self.vault.close()
        shutil.rmtree(self.root)

    @rule(change=writes)
    def write(self, change: Write) -> None:
        self.change([change], "")

    @rule(change=wanted)
    def change_one(self, change: Change) -> None:
        self.change([change], "")

    @rule(changes=st.lists(wanted, min_size=1, max_size=4), key=st.sampled_from(["", "", "", "k1", "k2"]))
    def change(self, changes: list[Change], key: str) -> None:
        meant = [self._meant(change) for change in changes]
        both = ChangeSet(changes=meant, actor="model", reason="try", idempotency_key=key)
        assert _outcome(self.vault, both) == _outcome(self.oracle, both)

    @rule(path=paths, content=contents)
    def edit_behind_its_back(self, path: str, content: bytes) -> None:
        there = self.root / path
        if there.is_dir() or any(above.is_file() for above in there.parents):
            return
        there.parent.mkdir(parents=True, exist_ok=True)
        if not there.exists() or there.read_bytes() != content:
            self._also(Write(path, content))
        there.write_bytes(content)
        self.vault.notice()

    @rule(path=paths)
    def delete_behind_its_back(self, path: str) -> None:
        if (self.root / path).is_file():
            (self.root / path).unlink()
            self._also(Delete(path))
        self.vault.notice()

    @rule(path=paths, to=paths)
    def move_behind_its_back(self, path: str, to: str) -> None:
        there = self.root / to
        if not (self.root / path).is_file() or there.exists() or any(above.is_file() for above in there.parents):
            return
        there.parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).rename(there)
        self._also(Rename(path, to))
        self.vault.notice()

    @rule()
    def restart(self) -> None:
        self.vault.close()
        self.vault = open_vault(self.root, BrainId("b"))

    @rule()
    def restart_the_machine(self) -> None:
        self.vault.close()
        self.vault = open_vault(self.root, BrainId("b"), boot="another")

    @invariant()
    def both_hold_the_same(self) -> None:
        mine, theirs = self.vault.records(), self.oracle.records()
        assert [(one.path, one.checksum_sha256) for one in mine] == [(one.path, one.checksum_sha256) for one in theirs]
        same = {one.id: other.id for one, other in zip(mine, theirs, strict=True)}
        assert len(set(same.values())) == len(same)
        for one in mine:
            assert self.vault.read(one.path) == self.oracle.read(one.path)
            assert (self.root / one.path).read_bytes() == self.oracle.read(one.path)
        assert [(stat.path, stat.size, stat.is_dir) for stat in self.vault.list()] == [
            (stat.path, stat.size, stat.is_dir) for stat in self.oracle.list()
        ]

    @invariant()
    def both_tell_the_same(self) -> None:
        mine, theirs = self.vault.commits(limit=1000), self.oracle.commits(limit=1000)
        assert [_told(one) for one in mine] == [_told(one) for one in theirs]
        for path in PATHS:
            assert [one.seq for one in self.vault.commits(path=path)] == [
                one.seq for one in self.oracle.commits(path=path)
            ]
        if mine:
            self._compare_past(mine[len(mine) // 2], theirs[len(mine) // 2])

    @invariant()
    def nothing_is_wrong(self) -> None:
        assert self.vault.verify() == []

    def _compare_past(self, mine: Commit, theirs: Commit) -> None:
        for path in PATHS:
            try:
                expected = self.oracle.read_at(path, theirs.id)
            except LimenError as error:
                with pytest.raises(type(error)):
                    self.vault.read_at(path, mine.id)
            else:
                assert self.vault.read_at(path, mine.id) == expected

    def _meant(self, change: Change) -> Change:
        if change.expected != "now":
            return change
        kept = self.oracle.present.get(change.path)
        expected = kept.record.checksum_sha256 if kept else ""
        match change:
            case Write(path, content):
                return Write(path, content, expected=expected)
            case Append(path, content):
                return Append(path, content, expected)
            case Delete(path):
                return Delete(path, expected)
            case Rename(path, to):
                return Rename(path, to, expected)

    def _also(self, change: Change) -> None:
        self.oracle.commit(ChangeSet(changes=[change], actor="external", reason="edited outside Limen"))


def _outcome(store: Vault | MemoryStore, change_set: ChangeSet) -> object:
    try:
        commit = store.commit(change_set)
    except LimenError as error:
        return error.code, error.facts.get("checksum_sha256")
    return _told(commit), commit.replayed


def _told(commit: Commit) -> object:
    done = sorted((op.kind, op.path, op.old_path, op.checksum_sha256, op.byte_size) for op in commit.operations)
    return commit.seq, commit.actor, commit.reason, done


TestModel = pytest.mark.slow(pytest.mark.timeout(120)(Model.TestCase))
TestModel.settings = settings(
    max_examples=20,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
