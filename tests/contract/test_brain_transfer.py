"""A brain leaves as one file and comes back whole; a file that is not what it says leaves no trace."""

import gzip
import hashlib
import io
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from limen.brain.documents.vault import open_vault
from limen.brain.git.follower import GitFollower
from limen.brain.git.history import GitPast
from limen.brain.library import Library
from limen.brain.parcel import Manifest, PackedFile
from limen.brain.records import Brain, BrainId, ChangeSet, CommitId, Write
from limen.brain.transfer import export_brain, import_brain
from limen.db.sqlite import connect
from limen.errors import Conflict, FileTooLarge, InvalidArguments, LimenError, Unreadable
from tests.contract.git_brain import git_environment
from tests.requirements import requirement

LONG = "wiki/" + "long-" * 40 + "/näme.md"


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """One brain with a history."""
    made = Library(tmp_path / "brains")
    brain = made.create("Notes", visibility="tenant")
    vault = open_vault(made.folder_of(brain), brain.id)
    for content in (b"one", b"two"):
        changes = [Write("memory/global/a.md", content), Write(LONG, b"long")]
        vault.commit(ChangeSet(changes=changes, actor="tester", reason="write"))
    git = GitFollower(vault, made.folder_of(brain))
    assert git.catch_up(4)
    git.close()
    vault.close()
    return made


@requirement("brain.transfer")
def test_an_export_comes_back_with_documents_journal_and_history(library: Library, tmp_path: Path) -> None:
    exported = export_brain(library, "notes", tmp_path / "notes.tar.gz")
    other = Library(tmp_path / "elsewhere")
    brain = import_brain(other, tmp_path / "notes.tar.gz")
    assert brain == exported
    root = other.folder_of(brain)
    vault = open_vault(root, brain.id, past=GitPast(root))
    first, second = reversed(vault.commits())
    assert vault.read("memory/global/a.md") == b"two"
    assert vault.read(LONG) == b"long"
    assert vault.read_at("memory/global/a.md", CommitId(first.id)) == b"one"
    assert vault.verify() == []
    vault.commit(ChangeSet(changes=[Write("b.md", b"b")], actor="tester", reason="after"))
    git = GitFollower(vault, root)
    assert git.catch_up(4)
    git.close()
    vault.close()
    assert _git(root, "log", "--format=%s").split() == ["after", "write", "write"]
    assert _git(root, "rev-parse", "HEAD~1").strip() == second.git_sha
    assert _git(root, "fsck", "--strict", "--no-dangling") == ""
    assert _git(root, "status", "--porcelain") == ""


@requirement("brain.transfer")
def test_the_same_brain_gives_the_same_bytes(library: Library, tmp_path: Path) -> None:
    for name in ("one.tar.gz", "two.tar.gz"):
        export_brain(library, "notes", tmp_path / name)
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()


@requirement("brain.transfer")
def test_an_ordinary_tar_reads_an_export(library: Library, tmp_path: Path) -> None:
    export_brain(library, "notes", tmp_path / "notes.tar.gz", with_git=False)
    with tarfile.open(tmp_path / "notes.tar.gz") as tar:
        names = tar.getnames()
        text = tar.extractfile("documents/memory/global/a.md")
        assert text is not None
        assert text.read() == b"two"
    assert names[0] == "manifest.json"
    assert f"documents/{LONG}" in names
    assert not [name for name in names if name.startswith("git")]


@requirement("brain.transfer")
def test_an_export_without_git_begins_a_new_history(library: Library, tmp_path: Path) -> None:
    export_brain(library, "notes", tmp_path / "notes.tar.gz", with_git=False)
    other = Library(tmp_path / "elsewhere")
    brain = import_brain(other, tmp_path / "notes.tar.gz")
    vault = open_vault(other.folder_of(brain), brain.id)
    git = GitFollower(vault, other.folder_of(brain))
    git.start()
    vault.commit(ChangeSet(changes=[Write("b.md", b"b")], actor="tester", reason="after"))
    assert git.catch_up(4)
    git.close()
    vault.close()
    assert "Begin anew: the git history was lost" in _git(other.folder_of(brain), "log", "--format=%s")


@requirement("brain.transfer")
def test_what_is_taken_is_not_overwritten(library: Library, tmp_path: Path) -> None:
    export_brain(library, "notes", tmp_path / "notes.tar.gz")
    with pytest.raises(Conflict):
        export_brain(library, "notes", tmp_path / "notes.tar.gz")
    again = import_brain(library, tmp_path / "notes.tar.gz")
    assert again.slug == "notes-2"
    assert again.id != library.get("notes").id
    with pytest.raises(Conflict):
        import_brain(library, tmp_path / "notes.tar.gz", slug="notes")
    with pytest.raises(InvalidArguments):
        import_brain(library, tmp_path / "notes.tar.gz", slug="../x")
    assert import_brain(library, tmp_path / "notes.tar.gz", slug="mine").slug == "mine"


def _damages(whole: bytes) -> Iterator[bytes]:
    yield b""
    yield b"not gzip at all"
    yield gzip.compress(b"not a tar at all" * 100)
    yield whole[: len(whole) // 2]
    yield whole[:-9]
    plain = bytearray(gzip.decompress(whole))
    for at in range(600, len(plain) - 1024, len(plain) // 23):
        plain[at] ^= 0x55
        yield gzip.compress(plain)
        plain[at] ^= 0x55


@pytest.mark.timeout(60)
@pytest.mark.slow
@requirement("brain.transfer")
def test_a_damaged_file_is_refused_and_leaves_nothing(library: Library, tmp_path: Path) -> None:
    export_brain(library, "notes", tmp_path / "notes.tar.gz")
    other = Library(tmp_path / "elsewhere")
    codes: list[str] = []
    for data in _damages((tmp_path / "notes.tar.gz").read_bytes()):
        (tmp_path / "bad.tar.gz").write_bytes(data)
        try:
            import_brain(other, tmp_path / "bad.tar.gz")
        except LimenError as error:
            codes.append(error.code)
        else:
            # The byte was one that means nothing: padding, or a header field nobody reads.
            other.purge(other.delete("notes").brain.slug)
    assert len(codes) >= 20
    assert set(codes) <= {"unreadable", "file_too_large"}
    assert other.list() == []
    assert not list(other.folder.glob(".making-*"))


BRAIN = Brain(id=BrainId("brn_x"), slug="x", name="x", created_at="", updated_at="")
NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize(
    "path",
    [
        "documents/../../evil",
        "documents//etc/passwd",
        "documents/.git/hooks/post-commit",
        "documents/.limen/brain.json",
        "/etc/passwd",
        "git/config",
        "git/hooks/post-commit",
        "git/objects/pack/../../../x",
        ".limen/brain.json",
    ],
)
@requirement("brain.transfer")
def test_a_path_that_leads_elsewhere_is_refused(tmp_path: Path, path: str) -> None:
    files = [PackedFile("journal.db", 0, NOTHING), PackedFile(path, 0, NOTHING)]
    _crafted(tmp_path / "bad.tar.gz", Manifest(brain=BRAIN, files=files))
    with pytest.raises(Unreadable):
        import_brain(Library(tmp_path / "brains"), tmp_path / "bad.tar.gz")
    assert list((tmp_path / "brains").iterdir()) == []


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
@requirement("brain.transfer")
def test_only_plain_files_are_taken(tmp_path: Path, kind: bytes) -> None:
    files = [PackedFile("documents/a.md", 0, NOTHING), PackedFile("journal.db", 0, NOTHING)]
    _crafted(tmp_path / "bad.tar.gz", Manifest(brain=BRAIN, files=files), kind)
    with pytest.raises(Unreadable):
        import_brain(Library(tmp_path / "brains"), tmp_path / "bad.tar.gz")
    assert list((tmp_path / "brains").iterdir()) == []


@requirement("brain.transfer")
def test_a_file_that_would_fill_the_disk_is_refused_before_it_does(tmp_path: Path) -> None:
    files = [PackedFile("journal.db", 1 << 60, NOTHING)]
    _crafted(tmp_path / "bad.tar.gz", Manifest(brain=BRAIN, files=files))
    with pytest.raises(FileTooLarge):
        import_brain(Library(tmp_path / "brains"), tmp_path / "bad.tar.gz")


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("create trigger t after insert on commits begin delete from documents; end", "trigger 't'"),
        ("create view v as select 1", "view 'v'"),
        ("create table more (one integer)", "table 'more'"),
        ("create index i on commits (actor)", "index 'i'"),
        ("drop index commits_id", "index 'commits_id'"),
        ("alter table keys rename to kept; create view keys as select * from kept", "'kept'"),
    ],
)
@requirement("brain.transfer")
def test_a_journal_with_parts_that_are_not_ours_is_refused(
    library: Library, tmp_path: Path, statement: str, named: str
) -> None:
    with closing(connect(library.folder / "notes" / ".limen" / "journal.db", checksummed=True)) as db:
        db.execute(statement)
    export_brain(library, "notes", tmp_path / "notes.tar.gz")
    other = Library(tmp_path / "elsewhere")
    with pytest.raises(Unreadable, match=named):
        import_brain(other, tmp_path / "notes.tar.gz")
    assert other.list() == []
    assert not list(other.folder.iterdir())


@requirement("brain.transfer")
def test_a_journal_that_is_no_database_is_refused(tmp_path: Path) -> None:
    data = b"no database" * 1000
    file = PackedFile("journal.db", len(data), hashlib.sha256(data).hexdigest())
    at = "2024-01-01T00:00:00.000Z"
    brain = Brain(id=BrainId("brn_x"), slug="x", name="X", created_at=at, updated_at=at)
    text = msgspec.json.encode(Manifest(brain=brain, files=[file]))
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as tar:
        for name, content in (("manifest.json", text), ("journal.db", data)):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    with pytest.raises(Unreadable, match="journal"):
        import_brain(Library(tmp_path / "brains"), tmp_path / "x.tar.gz")


def _crafted(target: Path, manifest: Manifest, kind: bytes = tarfile.REGTYPE) -> None:
    with tarfile.open(target, "w:gz") as tar:
        text = msgspec.json.encode(manifest)
        head = tarfile.TarInfo("manifest.json")
        head.size = len(text)
        tar.addfile(head, io.BytesIO(text))
        for file in manifest.files:
            info = tarfile.TarInfo(file.path)
            info.type = kind
            info.linkname = "/etc/passwd"
            tar.addfile(info)


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=root, env=git_environment(root), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
