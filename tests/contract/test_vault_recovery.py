"""After any death of a writer the brain is as it promised: what was committed is there, what was not is not."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from limen.brain.documents.gate import boot_id
from limen.brain.documents.grouping import ChangeErrand, Group
from limen.brain.documents.journal import open_journal_db
from limen.brain.documents.ledger import Ledger
from limen.brain.documents.placing import Folder
from limen.brain.documents.vault import Vault, open_vault
from limen.brain.records import Append, BrainId, Change, ChangeSet, Delete, Rename, Write
from limen.errors import NotFound, StoreFull, StoreUnavailable
from tests.contract.vault_acks import Expected
from tests.environment import ROOT, lack
from tests.requirements import requirement


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where the brain's files are."""
    return tmp_path / "brain"


def change(vault: Vault, *wanted: Change) -> None:
    """Make changes."""
    vault.commit(ChangeSet(changes=wanted, actor="tester", reason="a test"))


@contextmanager
def opened(root: Path, boot: str | None = None) -> Generator[Vault]:
    """A brain, closed at the end."""
    vault = open_vault(root, BrainId("b"), boot=boot)
    try:
        yield vault
    finally:
        vault.close()


def die_before_placing(root: Path, *wanted: Change) -> None:
    """Do what a writer does up to the commit, and nothing of what follows, as if it were killed right then."""
    folder = Folder(root)
    db = open_journal_db(root / ".limen" / "journal.db")
    ledger = Ledger(db)
    with ledger.transaction():
        group = Group(ledger, folder, lambda _: None)
        group.take(ChangeErrand(ChangeSet(changes=wanted, actor="tester", reason="killed")))
        group.write()
    db.close()
    folder.close()
    (root / ".limen" / "writer.lock").write_bytes(b"b" + boot_id().encode())


@requirement("brain.acknowledged-stays")
def test_what_was_committed_and_not_placed_is_placed_by_the_next_to_open(root: Path) -> None:
    with opened(root) as vault:
        change(vault, Write("a.md", b"old"), Write("b.md", b"moved"), Write("c.md", b"gone"))
    die_before_placing(root, Write("a.md", b"new"), Rename("b.md", "deep/b.md"), Delete("c.md"), Write("n/d.md", b"x"))
    assert (root / "a.md").read_bytes() == b"old"
    with opened(root) as vault:
        assert (root / "a.md").read_bytes() == b"new"
        assert (root / "deep/b.md").read_bytes() == b"moved"
        assert (root / "n/d.md").read_bytes() == b"x"
        assert not (root / "b.md").exists()
        assert not (root / "c.md").exists()
        assert vault.notice() == 2
        assert vault.verify() == []
    assert list((root / ".limen/tmp").iterdir()) == []


@requirement("brain.acknowledged-stays")
def test_others_read_what_was_committed_before_anyone_places_it(root: Path) -> None:
    with opened(root) as vault:
        change(vault, Write("a.md", b"old"), Write("c.md", b"gone"))
        die_before_placing(root, Write("a.md", b"new"), Delete("c.md"))
        assert vault.read("a.md") == b"new"
        with pytest.raises(NotFound):
            vault.read("c.md")
        change(vault, Append("a.md", b" and newer"))
        assert vault.read("a.md") == b"new and newer"
        assert (root / "a.md").read_bytes() == b"new and newer"
        assert not (root / "c.md").exists()
        assert vault.verify() == []


@requirement("brain.acknowledged-stays")
def test_an_edit_after_the_death_is_not_overwritten(root: Path) -> None:
    with opened(root) as vault:
        change(vault, Write("a.md", b"old"), Write("c.md", b"gone"))
    die_before_placing(root, Write("a.md", b"new"), Delete("c.md"))
    (root / "a.md").write_bytes(b"theirs")
    (root / "c.md").write_bytes(b"theirs too")
    with opened(root) as vault:
        vault.notice()
        assert vault.read("a.md") == b"theirs"
        assert vault.read("c.md") == b"theirs too"
        held = [vault.read_at("a.md", commit.id) for commit in vault.commits(path="a.md")]
        assert held == [b"theirs", b"new", b"old"]


@requirement("brain.acknowledged-stays")
def test_files_of_a_transaction_that_never_was_are_thrown_away(root: Path) -> None:
    with opened(root) as vault:
        change(vault, Write("a.md", b"one"))
    for name in ("17-stale", "x", "y"):
        (root / ".limen/tmp" / name).write_bytes(b"half a do")
    with opened(root):
        assert list((root / ".limen/tmp").iterdir()) == []


@requirement("brain.acknowledged-stays")
def test_after_a_restart_of_the_machine_no_file_is_trusted_that_was_not_synced(root: Path) -> None:
    contents = {f"{number}.md": f"# {number}\n".encode() * 500 for number in range(8)}
    with opened(root) as vault:
        change(vault, Write("0.md", b"older"), Write("8.md", b"to go"), Write("9.md", b"kept"))
        change(vault, *[Write(path, content) for path, content in contents.items()], Delete("8.md"))
    (root / "0.md").write_bytes(b"older")
    (root / "1.md").write_bytes(b"")
    (root / "2.md").write_bytes(contents["2.md"][:1000])
    (root / "3.md").write_bytes(contents["3.md"][:1000] + bytes(500))
    (root / "4.md").write_bytes(bytes(1000) + contents["4.md"][1000:])
    (root / "5.md").unlink()
    (root / "6.md").write_bytes(b"somebody's own words")
    (root / "8.md").write_bytes(b"to go")
    with opened(root, boot="another start") as vault:
        vault.notice()
        expected = contents | {"6.md": b"somebody's own words", "9.md": b"kept"}
        assert {record.path: vault.read(record.path) for record in vault.records()} == expected
        assert all((root / path).read_bytes() == content for path, content in expected.items())
        assert not (root / "8.md").exists()
        assert vault.verify() == []


@requirement("brain.acknowledged-stays")
def test_what_is_settled_is_the_files_own_after_a_restart_too(root: Path) -> None:
    with opened(root) as vault:
        change(vault, Write("a.md", b"one"))
        while vault.settle():
            pass
    (root / "a.md").unlink()
    with opened(root, boot="another start") as vault:
        vault.notice()
        assert not vault.exists("a.md")


def drive(root: Path, name: str, count: int, threads: int) -> subprocess.Popen[bytes]:
    """Start a process that writes."""
    command = [sys.executable, "-m", "tests.contract.vault_driver", str(root), name, str(count), str(threads)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, start_new_session=True)


@pytest.mark.slow
@pytest.mark.timeout(60)
@requirement("brain.acknowledged-stays")
def test_nothing_acknowledged_is_lost_by_kill_9(root: Path) -> None:
    rng = Random()
    for number in range(4):
        children = [drive(root, f"r{number}p{child}", 10_000, 2) for child in range(2)]
        expected = Expected()
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == b"open - -\n"
        time.sleep(rng.uniform(0.05, 0.4))
        for child in children:
            os.killpg(child.pid, signal.SIGKILL)
        for child in children:
            expected.hear(b"open - -\n" + child.communicate()[0])
        with opened(root) as vault:
            names = [f"r{number}p{child}-{thread}" for child in range(2) for thread in range(2)]
            assert expected.problems(vault, names) == []
            head = vault.head()
            assert vault.notice() == head
        assert expected.acknowledged > 0
        assert expected.failed == []


@pytest.mark.slow
@pytest.mark.timeout(60)
@requirement("brain.acknowledged-stays")
def test_several_processes_write_at_once(root: Path) -> None:
    children = [drive(root, f"p{child}", 40, 2) for child in range(4)]
    expected = Expected()
    for child in children:
        expected.hear(child.communicate()[0])
        assert child.returncode == 0
    assert (expected.acknowledged, expected.failed) == (320, [])
    with opened(root) as vault:
        assert expected.problems(vault) == []
        assert vault.head() == 320


@pytest.fixture
def small_disk(tmp_path: Path, needs: Callable[[str], Path]) -> Iterator[Path]:
    """A file system of two megabytes."""
    mount, umount = needs("mount"), needs("umount")
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run([mount, "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], capture_output=True, check=False)
    if made.returncode:
        lack("permission to mount", "run the tests as root, in a namespace of their own")
    yield disk
    subprocess.run([umount, "-l", disk], check=True)


@requirement("brain.acknowledged-stays", "brain.full-disk")
def test_a_full_disk_refuses_clearly_and_works_again_when_there_is_room(small_disk: Path) -> None:
    with opened(small_disk / "brain") as vault:
        change(vault, Write("a.md", b"one"))
        ballast = small_disk / "ballast"
        ballast.write_bytes(bytes(900_000))
        head, kept = 1, 0
        for number in range(200):
            try:
                change(vault, Write(f"fill/{number}.md", bytes([number]) * 20_000))
            except StoreFull:
                break
            kept += 1
            head += 1
        else:
            pytest.fail("two megabytes were never full")
        assert vault.head() == head
        with pytest.raises(StoreFull):
            change(vault, Write("a.md", b"x" * 400_000))
        assert vault.read("a.md") == b"one"
        ballast.unlink()
        change(vault, Write("a.md", b"two"))
        assert vault.read("a.md") == b"two"
        assert len(vault.list("fill")) == kept
        assert vault.verify() == []
        assert vault.notice() == vault.head()


@requirement("brain.acknowledged-stays", "brain.full-disk")
def test_on_a_disk_that_takes_no_writes_documents_can_be_read(small_disk: Path, needs: Callable[[str], Path]) -> None:
    with opened(small_disk / "brain") as vault:
        change(vault, Write("a.md", b"one"))
    remount = [needs("mount"), "-o", "remount,ro", small_disk]
    subprocess.run(remount, check=True, capture_output=True)
    with opened(small_disk / "brain") as vault:
        assert vault.read("a.md") == b"one"
        assert [record.path for record in vault.records()] == ["a.md"]
        assert vault.head() == vault.notice() == 1
        with pytest.raises(StoreUnavailable):
            change(vault, Write("a.md", b"two"))
        assert vault.verify() == []
