"""A damaged journal says so: after flipped bits whatever a brain tells of its documents and their past is right."""

import logging
import os
import random
import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

import pytest

from limen.brain.documents.vault import Vault, open_vault
from limen.brain.records import Append, BrainId, Change, ChangeSet, Commit, CommitId, Delete, Rename, Write
from limen.db.sqlite import connect
from limen.errors import JournalBroken, LimenError, NotFound
from tests.requirements import requirement

BRAIN = BrainId("b")
COMMITS = 60
PASSIVE, TRUNCATE = 0, 3


class Past:
    """What was written: the commits in their order, and what lay there after each."""

    def __init__(self) -> None:
        self.commits: list[Commit] = []
        self.held: list[Mapping[str, bytes]] = [{}]

    def write(self, vault: Vault, seed: int) -> None:
        """Make one more commit."""
        rng, after = random.Random(seed), dict(self.held[-1])
        path = f"f{rng.randrange(3)}/{rng.randrange(6)}.md"
        content = f"# {seed}\n\n{' '.join(rng.choices(('amber', 'birch', 'cedar'), k=rng.choice((5, 400))))}\n".encode()
        wanted: Change = Write(path, content)
        after[path] = content
        if path in self.held[-1] and rng.random() < 0.6:
            to = f"g/{seed}.md"
            wanted = rng.choice([Append(path, content), Rename(path, to), Delete(path)])
            del after[path]
            if isinstance(wanted, Append):
                after[path] = self.held[-1][path] + content
            elif isinstance(wanted, Rename):
                after[to] = self.held[-1][path]
        self.commits.append(vault.commit(ChangeSet(changes=[wanted], actor=f"tester {seed}", reason="a test")))
        self.held.append(after)

    def faults(self, vault: Vault) -> Sequence[str]:
        """What the vault tells and is not so; of its newest commits some may be missing, and others taken up anew."""
        known = {commit.id: commit for commit in self.commits}
        faults: list[str] = []
        for shown in vault.commits(limit=1000):
            true = known.get(shown.id)
            if true is None and shown.actor != "external":
                faults.append(f"commit {shown.seq} never was")
            elif true is not None and (shown.operations, shown.at, shown.actor, shown.seq, shown.parent) != (
                true.operations,
                true.at,
                true.actor,
                true.seq,
                true.parent,
            ):
                faults.append(f"commit {shown.seq} is another")
            elif true is not None:
                faults += self._faults_at(vault, true.seq, true.id)
        faults += [f"{path} holds something else" for path, held in self.held[-1].items() if vault.read(path) != held]
        return faults

    def _faults_at(self, vault: Vault, seq: int, commit: CommitId) -> Sequence[str]:
        faults: list[str] = []
        for path, held in self.held[seq].items():
            try:
                if vault.read_at(path, commit) != held:
                    faults.append(f"{path} at {seq} held something else")
            except NotFound:
                faults.append(f"{path} at {seq} is not known")
        return faults


@pytest.fixture(scope="module", params=["in its log", "in the database too", "in the database"])
def crashed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Past]:
    """A brain as a killed process leaves it, with the newest pages at one place or at both, and what is right."""
    folder, past = tmp_path_factory.mktemp("sound"), Past()
    journal = folder / "brain" / ".limen" / "journal.db"
    with closing(open_vault(folder / "brain", BRAIN)) as vault:
        for seed in range(COMMITS):
            past.write(vault, seed)
            if seed == COMMITS // 2:
                with closing(connect(journal, checksummed=True)) as db:
                    db.wal_checkpoint(mode=TRUNCATE)
        with closing(connect(journal, checksummed=True)) as db:
            if request.param != "in its log":
                db.wal_checkpoint(mode=PASSIVE)
            gone = "*-wal" if request.param == "in the database" else "*-shm"
            shutil.copytree(folder / "brain", folder / "files", ignore=shutil.ignore_patterns("*-shm", gone))
    return folder / "files", past


def flip(file: int, draw: random.Random, bits: int) -> None:
    """Flip bits of an open file: to close one that SQLite uses would drop its locks."""
    size = os.fstat(file).st_size
    for _ in range(bits):
        offset = draw.randrange(size)
        (byte,) = os.pread(file, 1, offset)
        os.pwrite(file, bytes([byte ^ 1 << draw.randrange(8)]), offset)


def is_told(root: Path, past: Past) -> bool:
    """Whether the brain knows all of its past; anything it tells that is not so fails the test.

    Raises:
        JournalBroken: it tells that it is damaged.
    """
    with closing(open_vault(root, BRAIN)) as vault:
        vault.notice()
        assert past.faults(vault) == []
        return {commit.id for commit in past.commits} <= {commit.id for commit in vault.commits(limit=1000)}


@requirement("brain.journal-damage")
def test_a_brain_that_is_not_damaged_tells_all(
    tmp_path: Path, crashed: tuple[Path, Past], caplog: pytest.LogCaptureFixture
) -> None:
    files, past = crashed
    shutil.copytree(files, tmp_path / "brain")
    assert is_told(tmp_path / "brain", past)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@requirement("brain.journal-damage")
@pytest.mark.slow
@pytest.mark.timeout(120)
def test_flipped_bits_are_never_told_as_the_past(
    tmp_path: Path, crashed: tuple[Path, Past], caplog: pytest.LogCaptureFixture
) -> None:
    files, past = crashed
    unheard: list[int] = []
    for seed in range(30):
        root = tmp_path / str(seed)
        shutil.copytree(files, root)
        draw = random.Random(seed)
        found = sorted(file for file in (root / ".limen").glob("journal.db*") if file.stat().st_size)
        with open(draw.choice(found), "r+b") as file:
            flip(file.fileno(), draw, draw.choice([1, 1, 3, 40]))
        caplog.clear()
        with suppress(JournalBroken):
            if not is_told(root, past) and not is_cut_told(caplog):
                unheard.append(seed)
    assert unheard == []


def is_cut_told(caplog: pytest.LogCaptureFixture) -> bool:
    """Whether somebody heard that the end of the log is lost."""
    return any("log is damaged" in record.message for record in caplog.records)


@requirement("brain.journal-damage")
@pytest.mark.slow
@pytest.mark.timeout(120)
def test_content_that_flips_in_the_log_of_an_open_brain_is_never_given_out(tmp_path: Path) -> None:
    broken = 0
    for seed in range(20):
        root, past, draw = tmp_path / str(seed), Past(), random.Random(seed)
        with closing(open_vault(root, BRAIN)) as vault:
            for number in range(COMMITS // 2):
                past.write(vault, number)
            log = os.open(root / ".limen" / "journal.db-wal", os.O_RDWR)
            flip(log, draw, 2000)
            for seq, commit in enumerate(past.commits, start=1):
                for path, held in past.held[seq].items():
                    try:
                        assert vault.read_at(path, commit.id) == held
                    except LimenError:
                        broken += 1
        os.close(log)
    assert broken
