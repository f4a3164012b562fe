"""What is particular to documents that are files: records made of them, edits behind our back, links and odd files."""

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from limen.brain.documents.vault import Vault, open_vault
from limen.brain.records import Append, BrainId, Change, ChangeSet, Commit, Delete, Facts, Rename, Write
from limen.errors import Conflict, FileTooLarge, InvalidArguments, JournalBroken, NotFound, StoreUnavailable
from tests.requirements import requirement

NAUGHTY = [
    "",
    " ",
    "undefined",
    "NULL",
    "1/0",
    "-1E+02",
    "0x0",
    "NaN",
    "123456789012345678901234567890",
    ",./;'[]\\-=<>?:\"{}|_+!@#$%^&*()`~",
    "\x01\x02\x03\x04\x07\x08\x0b\x0c\x0e\x0f\x7f",
    "\t\x0b\x0c \x85\u1680\u2002\u2003\u2028\u2029\u202f\u205f\u3000",
    "\u00ad\u0600\u061c\u06dd\u070f\u180e\u200b\u200c\u200d\u200e\u202a\u2060\ufeff\ufff9",
    "\ufeff",
    "\ufffe",
    "\u03a9\u2248\u00e7\u221a\u222b\u02dc\u00b5\u2264\u2265\u00f7",
    "\u0401\u0402\u0403\u0410\u0411\u0412",
    "\u0660\u0661\u0662\u0663",
    "\u0e14\u0e49\u0e49\u0e49\u0e49\u0e49\u0e47\u0e47\u0e47",
    "'",
    '"',
    "''",
    "田中さんにあげて下さい",
    "和製漢語",
    "\U00020b9f",
    "\u0f3c \u3064 \u25d5_\u25d5 \u0f3d\u3064",
    "\U0001f60d \U0001f469\U0001f3fd \U0001f468\u200d\U0001f9b0 \u2764\ufe0f",
    "\u0627\u0644\u0643\u0644 \u0641\u064a \u0627\u0644\u0645\u062c\u0645\u0648\u0639\u0629",
    "\u202atest\u202b \u2066test\u2067",
    "T\u0337\u0321\u032f\u0353o\u0336\u0329\u0345",
    "\u02d9\u0250nb\u1d09l\u0250",
    "<script>alert(0)</script>",
    "1;DROP TABLE documents",
    "$(touch /tmp/blns.fail)",
    "../../../../etc/passwd%00",
    "%s%d%x%n {0} {{7*7}}",
    "CON PRN AUX NUL COM1",
    "<<<<<<< ours\none\n=======\ntwo\n>>>>>>> theirs",
    "---\ntitle: [unclosed\n---",
    "\r\n\r\n",
    "# ",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where the brain's files are."""
    return tmp_path / "brain"


@pytest.fixture
def vault(root: Path) -> Iterator[Vault]:
    """An empty brain."""
    opened = open_vault(root, BrainId("b"))
    yield opened
    opened.close()


def change(vault: Vault, *wanted: Change) -> Commit:
    """Make changes."""
    return vault.commit(ChangeSet(changes=wanted, actor="tester", reason="a test"))


def told(commit: Commit) -> list[tuple[str, str, str]]:
    """What a commit did, in short."""
    return [(op.kind, op.path, op.old_path) for op in commit.operations]


def newest(vault: Vault) -> Commit:
    """The last commit."""
    return vault.commits(limit=1)[0]


def test_a_document_is_a_file_that_anyone_can_read(vault: Vault, root: Path) -> None:
    change(vault, Write("memory/global/a.md", b"one"))
    assert (root / "memory/global/a.md").read_bytes() == b"one"
    change(vault, Rename("memory/global/a.md", "b.md"))
    assert (root / "b.md").read_bytes() == b"one"
    assert not (root / "memory").exists(), "folders that are empty go"
    change(vault, Delete("b.md"))
    assert [entry.name for entry in root.iterdir()] == [".limen"]


@pytest.mark.parametrize(
    ("content", "title"),
    [
        (b"---\ntitle: From the head\n---\n# Heading", "From the head"),
        (b"Some text\n\n## The heading ##\n", "The heading"),
        (b"no heading at all", "some-note"),
        (b"# \n\n", "some-note"),
        (b"# " + b"x" * 2000, "x" * 512),
        (b"\xff\xfe\x00", "some-note"),
    ],
)
def test_a_title_comes_from_the_content_or_the_name(vault: Vault, content: bytes, title: str) -> None:
    change(vault, Write("memory/some-note.md", content))
    assert vault.get("memory/some-note.md").title == title


def test_what_the_writer_says_counts_and_what_it_leaves_out_stays(vault: Vault) -> None:
    facts = Facts(
        title="Said", source="reflect", content_type="text/x-note", metadata={"tags": "a,b", "n": 1, "x": None}
    )
    change(vault, Write("a.md", b"# Heading", facts))
    record = vault.get("a.md")
    assert (record.title, record.source, record.content_type) == ("Said", "reflect", "text/x-note")
    assert record.metadata == {"tags": "a,b", "n": 1, "x": None}
    change(vault, Write("a.md", b"no heading"))
    again = vault.get("a.md")
    assert (again.title, again.source, again.metadata) == ("Said", "reflect", record.metadata)
    change(vault, Append("a.md", b"\n# Found\n"))
    assert vault.get("a.md").title == "Found"


@pytest.mark.parametrize(
    ("path", "content_type"),
    [("a.md", "text/markdown"), ("a", "text/markdown"), ("a.TXT", "text/plain"), ("x/a.json", "application/json")],
)
def test_a_content_type_comes_from_the_name(vault: Vault, path: str, content_type: str) -> None:
    change(vault, Write(path, b""))
    assert vault.get(path).content_type == content_type


@pytest.mark.parametrize("metadata", [{"a": [1]}, {"a": {"b": 1}}, {"a": float("nan")}, {"a": "\ud800"}, {"\ud800": 1}])
def test_metadata_that_is_not_flat_is_refused(vault: Vault, metadata: dict[str, object]) -> None:
    with pytest.raises(InvalidArguments):
        change(vault, Write("a.md", b"", Facts(metadata=metadata)))  # pyright: ignore[reportArgumentType] - that is the test
    assert vault.head() == 0


def test_text_that_is_no_unicode_is_refused_and_names_its_field(vault: Vault) -> None:
    for field in ("actor", "reason", "message", "author", "email", "idempotency_key"):
        said = {"actor": "a", "reason": "r", field: "\udc80"}
        with pytest.raises(InvalidArguments) as refused:
            vault.commit(ChangeSet(changes=[Write("a.md", b"")], **said))
        assert refused.value.facts["field"] == field
    with pytest.raises(InvalidArguments):
        change(vault, Write("a.md", b"", Facts(title="\ud800")))
    assert vault.head() == 0


def test_a_document_has_a_largest_size(vault: Vault) -> None:
    with pytest.raises(FileTooLarge):
        change(vault, Write("a.md", bytes(33 * 1024 * 1024)))
    assert vault.head() == 0


def test_naughty_strings_come_back_byte_for_byte(vault: Vault) -> None:
    texts = [*NAUGHTY, "x" * 100_000]
    change(
        vault,
        *[
            Write(f"n/{number}.md", text.encode(), Facts(title=text or None, metadata={"text": text}))
            for number, text in enumerate(texts)
        ],
    )
    for number, text in enumerate(texts):
        record = vault.get(f"n/{number}.md")
        assert vault.read(record.path) == text.encode()
        assert record.metadata == {"text": text}
        assert 0 < len(record.title) <= 512
    assert vault.verify() == []


def test_naughty_names_are_names(vault: Vault, root: Path) -> None:
    names = [f"{text}.md" for text in NAUGHTY if "/" not in text and "\\" not in text and text.isprintable()]
    change(vault, *[Write(name, name.encode()) for name in names])
    assert {record.path for record in vault.records()} == set(names)
    assert all((root / name).read_bytes() == name.encode() for name in names)
    assert vault.notice() == 1


@requirement("brain.external-edits")
def test_edits_of_others_are_journalled(vault: Vault, root: Path) -> None:
    change(vault, Write("a.md", b"one"), Write("b.md", b"two"), Write("c.md", b"three"))
    ids = {record.path: record.id for record in vault.records()}
    (root / "a.md").write_bytes(b"# Edited")
    (root / "b.md").unlink()
    (root / "c.md").rename(root / "d.md")
    (root / "new").mkdir()
    (root / "new" / "e.md").write_bytes(b"five")
    assert vault.notice() == 2
    commit = newest(vault)
    assert (commit.actor, commit.reason) == ("external", "edited outside Limen")
    assert told(commit) == [
        ("deleted", "b.md", ""),
        ("renamed", "d.md", "c.md"),
        *sorted([("updated", "a.md", ""), ("created", "new/e.md", "")], key=lambda row: row[1] != told(commit)[2][1]),
    ]
    assert vault.get("d.md").id == ids["c.md"]
    assert (vault.get("a.md").id, vault.get("a.md").title) == (ids["a.md"], "Edited")
    assert vault.notice() == 2
    assert vault.read_at("b.md", vault.commits()[-1].id) == b"two"
    assert vault.content(vault.get("new/e.md").checksum_sha256) == b"five"


def test_a_file_that_was_only_touched_makes_no_commit(vault: Vault, root: Path) -> None:
    change(vault, Write("a.md", b"one"))
    os.utime(root / "a.md", ns=(1, 1))
    (root / "b.md").write_bytes(b"one")
    (root / "b.md").rename(root / "a.md")
    assert vault.notice() == 1
    assert vault.read("a.md") == b"one"


@requirement("brain.external-edits")
def test_a_change_first_takes_up_what_others_did_there(vault: Vault, root: Path) -> None:
    change(vault, Write("a.md", b"one"))
    known = vault.get("a.md").checksum_sha256
    (root / "a.md").write_bytes(b"theirs")
    with pytest.raises(Conflict) as conflict:
        change(vault, Write("a.md", b"two", expected=known))
    assert conflict.value.facts["checksum_sha256"] == vault.get("a.md").checksum_sha256 != known
    assert newest(vault).actor == "external"
    (root / "a.md").write_bytes(b"theirs again")
    change(vault, Append("a.md", b" and mine"))
    assert vault.read("a.md") == b"theirs again and mine"
    (root / "new.md").write_bytes(b"unseen")
    with pytest.raises(Conflict):
        change(vault, Write("new.md", b"", expected=""))
    change(vault, Write("new.md", b"mine"))
    assert b"unseen" in [vault.read_at("new.md", commit.id) for commit in vault.commits(path="new.md")]


@requirement("brain.external-edits")
def test_a_deletion_by_others_is_seen_by_a_change(vault: Vault, root: Path) -> None:
    change(vault, Write("a.md", b"one"))
    (root / "a.md").unlink()
    with pytest.raises(NotFound):
        change(vault, Delete("a.md"))
    assert told(newest(vault)) == [("deleted", "a.md", "")]


@requirement("brain.external-edits")
def test_what_others_wrote_is_read_before_it_is_noticed(vault: Vault, root: Path) -> None:
    change(vault, Write("a.md", b"one"), Write("b.md", b"two"))
    (root / "a.md").write_bytes(b"theirs")
    (root / "b.md").unlink()
    assert vault.read("a.md") == b"theirs"
    with pytest.raises(NotFound):
        vault.read("b.md")


def test_a_file_with_conflict_markers_is_just_content(vault: Vault, root: Path) -> None:
    change(vault, Write("a.md", b"one"))
    marked = b"<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> other\n"
    (root / "a.md").write_bytes(marked)
    vault.notice()
    assert vault.read("a.md") == marked


def test_hidden_and_passing_files_are_no_documents(vault: Vault, root: Path) -> None:
    root.joinpath(".obsidian").mkdir()
    root.joinpath("sub", ".git").mkdir(parents=True)
    for name in (
        ".hidden.md",
        ".a.md.swp",
        "a.md~",
        "#a.md#",
        "~$a.docx",
        "a.tmp",
        "a.part",
        ".obsidian/x",
        "sub/.git/x",
    ):
        (root / name).write_bytes(b"x")
    root.joinpath(".git").mkdir()
    root.joinpath(".git", "config").write_bytes(b"x")
    assert vault.notice() == 0
    for path in (".hidden.md", ".obsidian/x", "a.md~"):
        with pytest.raises(NotFound):
            vault.read(path)
    change(vault, Write(".hidden.md", b"ours"), Write(".folder/a.tmp", b"ours too"))
    (root / ".folder/a.tmp").write_bytes(b"edited")
    vault.notice()
    assert vault.read(".folder/a.tmp") == b"edited"
    assert [record.path for record in vault.records()] == [".folder/a.tmp", ".hidden.md"]


def test_odd_files_are_passed_by(vault: Vault, root: Path, caplog: pytest.LogCaptureFixture) -> None:
    os.mkfifo(root / "pipe.md")
    (root / "big.bin").touch()
    os.truncate(root / "big.bin", 64 * 1024 * 1024)
    (root / "link.md").symlink_to("/etc/hostname")
    (root / "folder").symlink_to("/etc")
    os.close(os.open(os.fsencode(root) + b"/\xff.md", os.O_CREAT | os.O_WRONLY))
    (root / "back\\slash.md").write_bytes(b"x")
    assert vault.notice() == 0
    assert vault.notice() == 0
    assert [record.message for record in caplog.records] == ["file cannot be a document"] * 3, "each is told of once"
    for path in ("pipe.md", "link.md", "folder/hostname"):
        with pytest.raises(NotFound):
            vault.read(path)


@requirement("brain.no-links")
def test_nothing_is_written_through_or_over_a_link(vault: Vault, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_bytes(b"theirs")
    (root / "folder").symlink_to(outside)
    (root / "link.md").symlink_to(outside / "a.md")
    os.mkfifo(root / "pipe.md")
    for path in ("folder/a.md", "folder/new/b.md", "link.md", "pipe.md"):
        with pytest.raises(Conflict):
            change(vault, Write(path, b"ours"))
    assert [entry.name for entry in outside.iterdir()] == ["a.md"]
    assert (outside / "a.md").read_bytes() == b"theirs"
    assert vault.head() == 0
    assert list((root / ".limen/tmp").iterdir()) == []


@requirement("brain.no-links")
def test_a_document_that_became_a_link_is_gone(vault: Vault, root: Path) -> None:
    change(vault, Write("a.md", b"one"))
    (root / "a.md").unlink()
    (root / "a.md").symlink_to("/etc/hostname")
    vault.notice()
    assert not vault.exists("a.md")


def test_folders_on_the_disk_that_hold_no_documents_are_no_obstacle_when_empty(vault: Vault, root: Path) -> None:
    (root / "a.md" / "b").mkdir(parents=True)
    change(vault, Write("a.md", b"one"))
    assert vault.read("a.md") == b"one"
    (root / "c.md").mkdir()
    (root / "c.md" / ".hidden").write_bytes(b"theirs")
    with pytest.raises(Conflict):
        change(vault, Write("c.md", b"ours"))
    assert (root / "c.md" / ".hidden").read_bytes() == b"theirs"


@requirement("brain.external-edits")
def test_a_document_that_others_made_a_folder_is_taken_up(vault: Vault, root: Path) -> None:
    change(vault, Write("a", b"one"))
    (root / "a").unlink()
    (root / "a").mkdir()
    (root / "a" / "b.md").write_bytes(b"two")
    change(vault, Append("a/b.md", b"!"))
    assert [record.path for record in vault.records()] == ["a/b.md"]
    assert vault.read("a/b.md") == b"two!"


def test_the_mode_of_a_file_stays(vault: Vault, root: Path) -> None:
    change(vault, Write("a.md", b"one"))
    (root / "a.md").chmod(0o600)
    change(vault, Write("a.md", b"two"))
    assert stat.S_IMODE((root / "a.md").stat().st_mode) == 0o600


@requirement("brain.external-edits")
def test_many_files_of_others_are_taken_up_with_their_moves(vault: Vault, root: Path) -> None:
    (root / "old").mkdir()
    for number in range(600):
        (root / "old" / f"{number}.md").write_text(f"# {number}")
    vault.notice()
    ids = {record.title: record.id for record in vault.records()}
    (root / "old").rename(root / "new")
    vault.notice()
    assert {record.title: record.id for record in vault.records()} == ids
    assert {op.kind for commit in vault.commits(limit=3) for op in commit.operations} == {"renamed"}
    assert vault.verify() == []


@requirement("brain.external-edits")
def test_a_watcher_takes_up_edits_by_itself(vault: Vault, root: Path) -> None:
    change(vault, Write("a.md", b"one"))
    vault.watch()
    # The system may begin to tell a moment after it was asked to, so the edit is made until it is seen.
    for number in range(100):
        (root / "a.md").write_bytes(b"edit %d" % number)
        if vault.wait(1, 0.2) > 1:
            break
    assert newest(vault).actor == "external"


def test_waiting_wakes_up_when_somebody_commits(vault: Vault) -> None:
    heard: list[int] = []
    listener = threading.Thread(target=lambda: heard.append(vault.wait(0, 4)))
    listener.start()
    change(vault, Write("a.md", b"one"))
    listener.join()
    assert heard == [1]


def test_derived_state_follows_before_the_writer_hears(vault: Vault) -> None:
    seen: list[int] = []
    vault.on_committed(lambda head: seen.append(len(vault.read("a.md")) + head))
    change(vault, Write("a.md", b"12345"))
    assert seen == [6]


def test_derived_state_that_fails_does_not_undo_a_commit(vault: Vault, caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: int) -> None:
        raise RuntimeError("no")

    vault.on_committed(fail)
    change(vault, Write("a.md", b"one"))
    assert vault.read("a.md") == b"one"
    assert "derived state did not follow" in {record.message for record in caplog.records}


def test_many_threads_write_at_once(vault: Vault) -> None:
    def work(name: int) -> None:
        for number in range(20):
            change(vault, Append("shared.md", b"%d:%d\n" % (name, number)), Write(f"{name}/{number}.md", b"x"))

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = vault.read("shared.md").split()
    assert len(lines) == 160
    for name in range(8):
        assert [line for line in lines if line.startswith(b"%d:" % name)] == [b"%d:%d" % (name, n) for n in range(20)]
    assert vault.head() == 160
    assert vault.verify() == []


def test_a_closed_brain_takes_no_more(vault: Vault) -> None:
    vault.close()
    with pytest.raises(StoreUnavailable):
        change(vault, Write("a.md", b""))
    vault.close()


def test_git_is_told_what_it_lacks_and_the_journal_forgets_what_git_has(vault: Vault, root: Path) -> None:
    first = change(vault, Write("a.md", b"one"))
    second = change(vault, Write("a.md", b"two"))
    assert [commit.seq for commit in vault.unfollowed()] == [1, 2]
    assert vault.followed() == (0, "")
    one, two = (commit.operations[0].checksum_sha256 for commit in (first, second))
    assert (vault.content(one), vault.content(two)) == (b"one", b"two")
    vault.mark_followed([1, 2], "f" * 40, {one: "1" * 40, two: "2" * 40})
    assert (vault.unfollowed(), vault.followed()) == ([], (2, "f" * 40))
    assert vault.commits()[0].git_sha == "f" * 40
    while vault.settle():
        pass
    assert (vault.content(one), vault.content(two)) == (None, None)
    blobs = {"1" * 40: b"one"}
    vault.past = blobs.__getitem__
    assert vault.read_at("a.md", first.id) == b"one"
    assert vault.read_at("a.md", second.id) == b"two"
    change(vault, Write("a.md", b"one"))
    assert vault.content(one) == b"one"
    assert vault.verify() == []


def test_what_git_did_not_keep_stays_in_the_journal(vault: Vault) -> None:
    first = change(vault, Write("a.md", b"passing"))
    vault.mark_followed([1], "f" * 40, {})
    while vault.settle():
        pass
    change(vault, Delete("a.md"))
    assert vault.read_at("a.md", first.id) == b"passing"


def test_a_damaged_journal_is_named_with_its_fix(root: Path) -> None:
    with_documents = open_vault(root, BrainId("b"))
    change(with_documents, *[Write(f"{number}.md", b"x" * 3000) for number in range(100)])
    with_documents.close()
    journal = root / ".limen" / "journal.db"
    damaged = bytearray(journal.read_bytes())
    for at in range(5000, len(damaged), 4096):
        damaged[at] ^= 1
    journal.write_bytes(damaged)
    with pytest.raises(JournalBroken, match=r"\.limen"):
        open_vault(root, BrainId("b")).records()


def test_a_journal_that_is_no_database_is_named_with_its_fix(root: Path) -> None:
    (root / ".limen").mkdir(parents=True)
    (root / ".limen" / "journal.db").write_bytes(b"not a database, but long enough to look like one" * 100)
    with pytest.raises(JournalBroken):
        open_vault(root, BrainId("b"))


def test_verify_names_what_does_not_fit(vault: Vault, root: Path) -> None:
    change(vault, Write("a.md", b"one"))
    there = (root / "a.md").stat()
    with (root / "a.md").open("r+b") as file:
        file.write(b"two")
    os.utime(root / "a.md", ns=(there.st_atime_ns, there.st_mtime_ns))
    assert vault.verify() == ["a.md does not hold what was written, and nobody edited it"]


def test_a_brain_begins_anew_from_its_files_when_its_journal_is_moved_away(root: Path) -> None:
    first = open_vault(root, BrainId("b"))
    change(first, Write("a.md", b"one"), Write("b/c.md", b"two"))
    first.close()
    (root / ".limen").rename(root.parent / "away")
    again = open_vault(root, BrainId("b"))
    again.notice()
    assert [record.path for record in again.records()] == ["a.md", "b/c.md"]
    again.close()


def test_processes_that_live_shortly_settle_their_share(root: Path) -> None:
    short = open_vault(root, BrainId("b"))
    for number in range(70):
        change(short, Write(f"{number:02}.md", b"%d" % number))
    commits = short.unfollowed()
    blobs = {op.checksum_sha256: "0" * 40 for commit in commits for op in commit.operations}
    short.mark_followed([commit.seq for commit in commits], "f" * 40, blobs)
    short.close()
    again = open_vault(root, BrainId("b"))
    kept = [record.path for record in again.records() if again.content(record.checksum_sha256) is not None]
    assert kept == [f"{number}.md" for number in range(64, 70)]
    again.close()
