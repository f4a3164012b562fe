"""What every place that keeps documents must do; run on the files-and-journal vault and on the oracle in memory."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from limen.brain.documents.vault import open_vault
from limen.brain.ports import DocumentStore
from limen.brain.records import Append, BrainId, Change, ChangeSet, CommitId, Delete, DocumentId, Rename, Write
from limen.errors import Conflict, InvalidPath, NotFound
from tests.contract.memory_store import MemoryStore
from tests.requirements import requirement


@pytest.fixture(params=["vault", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DocumentStore]:
    """An empty store, of each kind."""
    opened: DocumentStore = open_vault(tmp_path / "brain", BrainId("b")) if request.param == "vault" else MemoryStore()
    yield opened
    opened.close()


def changes(*wanted: Change, key: str = "") -> ChangeSet:
    """These changes together."""
    return ChangeSet(changes=wanted, actor="tester", reason="a test", idempotency_key=key)


def checksum(content: bytes) -> str:
    """As records carry it."""
    return hashlib.sha256(content).hexdigest()


def kinds(store: DocumentStore, after: int = 0) -> list[tuple[str, str, str]]:
    """What happened, in short."""
    return [(event.kind, event.path, event.old_path) for _, event in store.events(after=after)]


def test_what_was_written_is_read(store: DocumentStore) -> None:
    commit = store.commit(changes(Write("notes/a.md", b"one")))
    assert store.read("notes/a.md") == b"one"
    record = store.get("notes/a.md")
    assert (record.byte_size, record.checksum_sha256, record.commit_sha) == (3, checksum(b"one"), commit.id)
    assert record.created_at == record.updated_at == commit.at
    assert record.deleted_at is None


@pytest.mark.parametrize("path", ["", "/a", "a/", "a//b", "../a", "a/./b", "a\\b", ".git/config", ".limen/x", "a\0b"])
def test_what_is_no_path_is_refused_everywhere(store: DocumentStore, path: str) -> None:
    for work in (store.read, store.get, store.exists, store.stat):
        with pytest.raises(InvalidPath):
            work(path)
    for change in (Write(path, b""), Append(path, b""), Delete(path), Rename(path, "b"), Rename("b", path)):
        store_before = store.head()
        with pytest.raises((InvalidPath, NotFound)):
            store.commit(changes(change))
        assert store.head() == store_before


def test_what_is_not_there_is_not_found(store: DocumentStore) -> None:
    for work in (store.read, store.get, store.stat):
        with pytest.raises(NotFound):
            work("nothing.md")
    assert not store.exists("nothing.md")
    assert store.find(DocumentId("doc_none")) is None
    with pytest.raises(NotFound):
        store.read_at("nothing.md", CommitId("abc"))
    for change in (Delete("nothing.md"), Rename("nothing.md", "b.md")):
        with pytest.raises(NotFound):
            store.commit(changes(change))
    assert store.head() == 0


def test_appending_adds_to_the_end_or_creates(store: DocumentStore) -> None:
    store.commit(changes(Append("log.md", b"one ")))
    store.commit(changes(Append("log.md", b"two")))
    assert store.read("log.md") == b"one two"


def test_a_document_keeps_its_id_when_it_moves(store: DocumentStore) -> None:
    store.commit(changes(Write("a.md", b"one")))
    before = store.get("a.md")
    store.commit(changes(Rename("a.md", "deep/er/b.md")))
    after = store.get("deep/er/b.md")
    assert after.id == before.id
    assert after.created_at == before.created_at
    assert store.read("deep/er/b.md") == b"one"
    assert not store.exists("a.md")
    assert kinds(store, 1) == [("renamed", "deep/er/b.md", "a.md")]


def test_moving_over_a_document_deletes_that_one(store: DocumentStore) -> None:
    store.commit(changes(Write("a.md", b"one"), Write("b.md", b"two")))
    moved, covered = store.get("a.md").id, store.get("b.md").id
    commit = store.commit(changes(Rename("a.md", "b.md")))
    assert store.get("b.md").id == moved
    assert store.read("b.md") == b"one"
    gone = store.find(covered)
    assert gone is not None
    assert gone.deleted_at == commit.at
    assert {(op.kind, op.document_id) for op in commit.operations} == {("deleted", covered), ("renamed", moved)}


def test_a_deleted_document_keeps_its_record_and_a_new_one_gets_a_new_id(store: DocumentStore) -> None:
    store.commit(changes(Write("a.md", b"one")))
    first = store.get("a.md").id
    store.commit(changes(Delete("a.md")))
    gone = store.find(first)
    assert gone is not None
    assert gone.deleted_at is not None
    store.commit(changes(Write("a.md", b"two")))
    assert store.get("a.md").id != first
    assert [record.id for record in store.records()] == [store.get("a.md").id]


def test_later_changes_of_a_set_see_earlier_ones(store: DocumentStore) -> None:
    store.commit(
        changes(
            Write("a.md", b"one"),
            Append("a.md", b" two"),
            Rename("a.md", "b.md"),
            Append("b.md", b" three"),
            Write("c.md", b"passing"),
            Delete("c.md"),
            Write("d.md", b"first"),
            Write("d.md", b"last"),
        )
    )
    assert store.read("b.md") == b"one two three"
    assert store.read("d.md") == b"last"
    assert sorted(kinds(store)) == [("created", "b.md", ""), ("created", "d.md", "")]


def test_a_set_may_come_to_nothing(store: DocumentStore) -> None:
    commit = store.commit(changes(Write("a.md", b"one"), Delete("a.md")))
    assert list(commit.operations) == []
    assert store.head() == 1


def test_two_documents_may_change_places(store: DocumentStore) -> None:
    store.commit(changes(Write("a.md", b"one"), Write("b.md", b"two")))
    one, two = store.get("a.md").id, store.get("b.md").id
    commit = store.commit(changes(Rename("a.md", "c.md"), Rename("b.md", "a.md"), Rename("c.md", "b.md")))
    assert (store.get("a.md").id, store.read("a.md")) == (two, b"two")
    assert (store.get("b.md").id, store.read("b.md")) == (one, b"one")
    assert store.read_at("a.md", commit.id) == b"two"
    assert store.read_at("b.md", commit.id) == b"one"


def test_an_error_anywhere_leaves_everything_untouched(store: DocumentStore) -> None:
    store.commit(changes(Write("a.md", b"one")))
    for wrong in (Delete("none.md"), Write("a.md/b", b""), Write("b.md", b"", expected="0" * 64)):
        with pytest.raises((NotFound, Conflict)):
            store.commit(changes(Write("a.md", b"two"), Write("c.md", b"three"), wrong))
    assert store.read("a.md") == b"one"
    assert not store.exists("c.md")
    assert store.head() == 1


def test_a_precondition_names_what_is_there(store: DocumentStore) -> None:
    store.commit(changes(Write("a.md", b"one", expected="")))
    with pytest.raises(Conflict) as conflict:
        store.commit(changes(Write("a.md", b"two", expected="")))
    assert conflict.value.facts["checksum_sha256"] == checksum(b"one")
    with pytest.raises(Conflict) as conflict:
        store.commit(changes(Delete("b.md", expected=checksum(b"one"))))
    assert conflict.value.facts["checksum_sha256"] == ""
    store.commit(changes(Write("a.md", b"two", expected=checksum(b"one"))))
    store.commit(changes(Append("a.md", b"!", expected=checksum(b"two"))))
    store.commit(changes(Rename("a.md", "b.md", expected=checksum(b"two!"))))
    store.commit(changes(Delete("b.md", expected=checksum(b"two!"))))
    assert not store.exists("b.md")


def test_the_same_key_again_is_answered_with_the_first_commit(store: DocumentStore) -> None:
    first = store.commit(changes(Append("a.md", b"one"), key="k1"))
    again = store.commit(changes(Append("a.md", b"one"), key="k1"))
    assert (again.id, again.seq, again.replayed) == (first.id, first.seq, True)
    assert [op.path for op in again.operations] == ["a.md"]
    assert not first.replayed
    with pytest.raises(Conflict):
        store.commit(changes(Append("a.md", b"two"), key="k1"))
    assert store.read("a.md") == b"one"
    assert store.head() == 1


def test_a_failed_set_does_not_use_up_its_key(store: DocumentStore) -> None:
    with pytest.raises(NotFound):
        store.commit(changes(Delete("a.md"), key="k"))
    assert store.commit(changes(Write("a.md", b""), key="k")).seq == 1


def test_documents_and_folders_do_not_lie_in_each_others_place(store: DocumentStore) -> None:
    store.commit(changes(Write("a/b.md", b"one")))
    for wrong in (Write("a", b""), Write("a/b.md/c", b""), Append("a", b""), Rename("a/b.md", "a/b.md/c/d")):
        if isinstance(wrong, Rename):
            store.commit(changes(wrong))
            assert store.read("a/b.md/c/d") == b"one"
        else:
            with pytest.raises(Conflict):
                store.commit(changes(wrong))
    store.commit(changes(Delete("a/b.md/c/d"), Write("a", b"now a document")))
    assert store.read("a") == b"now a document"
    store.commit(changes(Delete("a"), Write("a/x/y", b"and back")))
    assert [stat.path for stat in store.list(recursive=True)] == ["a/x/y"]


def test_twins_in_case_and_in_composition_are_different_documents(store: DocumentStore) -> None:
    names = ["Note.md", "note.md", "caf\u00e9.md", "cafe\u0301.md"]
    store.commit(changes(*[Write(name, name.encode()) for name in names]))
    assert {name: store.read(name) for name in names} == {name: name.encode() for name in names}


def test_listing_shows_folders_once_and_hides_what_is_generated(store: DocumentStore) -> None:
    paths = ["a.md", "a/1.md", "a/2.txt", "a/b/3.md", "a-b.md", "_index.md", "a/_map.md", "z/z/z.md"]
    store.commit(changes(*[Write(path, b"x") for path in paths]))

    def names(folder: str = "", *, recursive: bool = False, glob: str = "", all_: bool = False) -> list[str]:
        found = store.list(folder, recursive=recursive, glob=glob, include_generated=all_)
        return [f"{stat.path}/" if stat.is_dir else stat.path for stat in found]

    assert names() == ["a/", "a-b.md", "a.md", "z/"]
    assert names(all_=True) == ["_index.md", "a/", "a-b.md", "a.md", "z/"]
    assert names("a") == ["a/1.md", "a/2.txt", "a/b/"]
    assert names("a", recursive=True, all_=True) == ["a/1.md", "a/2.txt", "a/_map.md", "a/b/3.md"]
    assert names(recursive=True, glob="*.md") == ["a-b.md", "a.md", "a/1.md", "a/b/3.md", "z/z/z.md"]
    assert names("nothing") == []


def test_stat_tells_documents_from_folders(store: DocumentStore) -> None:
    store.commit(changes(Write("a/b.md", b"12345")))
    assert (store.stat("a/b.md").size, store.stat("a/b.md").is_dir) == (5, False)
    assert (store.stat("a").is_dir, store.exists("a")) == (True, True)


def test_records_come_in_the_order_of_paths_page_by_page(store: DocumentStore) -> None:
    paths = sorted(f"{name}/{number}.md" for name in ("a", "b", "\u00e9", "Z") for number in range(5))
    store.commit(changes(*[Write(path, path.encode()) for path in reversed(paths)]))
    found: list[str] = []
    while page := store.records(after=found[-1] if found else "", limit=3):
        found += [record.path for record in page]
    assert found == paths


@requirement("brain.bytes-exact")
def test_a_content_is_found_by_its_checksum(store: DocumentStore) -> None:
    store.commit(changes(Write("a.md", b"same"), Write("b.md", b"same"), Write("c.md", b"other")))
    assert [record.path for record in store.find_content(checksum(b"same"))] == ["a.md", "b.md"]
    store.commit(changes(Delete("a.md")))
    assert [record.path for record in store.find_content(checksum(b"same"))] == ["b.md"]


def test_the_past_can_be_read_by_the_beginning_of_a_commits_id(store: DocumentStore) -> None:
    first = store.commit(changes(Write("a.md", b"one")))
    store.commit(changes(Rename("a.md", "b.md")))
    third = store.commit(changes(Write("b.md", b"two"), Write("a.md", b"new")))
    assert store.read_at("a.md", CommitId(first.id[:12])) == b"one"
    assert store.read_at("a.md", third.id) == b"new"
    assert store.read_at("b.md", third.id) == b"two"
    with pytest.raises(NotFound):
        store.read_at("b.md", first.id)
    assert store.find_commit(CommitId(third.id[:12])) == third
    assert store.find_commit(CommitId("xyz")) is None
    assert store.find_commit(CommitId("")) is None


def test_history_goes_through_renames(store: DocumentStore) -> None:
    store.commit(changes(Write("a.md", b"1")))
    store.commit(changes(Rename("a.md", "b.md")))
    store.commit(changes(Write("b.md", b"2")))
    store.commit(changes(Write("other.md", b"x")))
    store.commit(changes(Write("a.md", b"3")))
    assert [commit.seq for commit in store.commits(path="b.md")] == [3, 2, 1]
    assert [commit.seq for commit in store.commits(path="a.md")] == [5, 2, 1]
    assert [commit.seq for commit in store.commits(before=4, limit=2)] == [3, 2]


def test_commits_are_a_chain(store: DocumentStore) -> None:
    made = [store.commit(changes(Write("a.md", bytes([number])))) for number in range(5)]
    assert [commit.parent for commit in made] == ["", *[commit.id for commit in made[:-1]]]
    assert [commit.seq for commit in made] == [1, 2, 3, 4, 5]
    assert list(reversed(store.commits())) == made


def test_commits_have_numbers_and_documents_are_counted(store: DocumentStore) -> None:
    first = store.commit(changes(Write("a.md", b"1"), Write("b.md", b"2")))
    second = store.commit(changes(Delete("a.md")))
    assert [store.commit_id(seq) for seq in range(4)] == [None, first.id, second.id, None]
    assert store.count() == 1


def test_a_folder_cannot_be_read(store: DocumentStore) -> None:
    store.commit(changes(Write("a/b.md", b"1")))
    with pytest.raises(NotFound):
        store.read("a")


@requirement("brain.batch-whole")
def test_events_come_whole_and_resume(store: DocumentStore) -> None:
    store.commit(changes(Write("a.md", b""), Write("b.md", b"")))
    store.commit(changes(Write("c.md", b"")))
    first = store.events(limit=1)
    assert [seq for seq, _ in first] == [1, 1]
    assert [event.path for _, event in store.events(after=first[-1][0])] == ["c.md"]
    ids = [event.id for _, event in store.events()]
    assert ids == sorted(set(ids))
    assert store.events(after=2) == []


def test_waiting_ends_when_there_is_news_or_the_time_is_over(store: DocumentStore) -> None:
    store.commit(changes(Write("a.md", b"")))
    assert store.wait(0, 5) == 1
    assert store.wait(1, 0) == 1


def test_changes_made_side_by_side_succeed_or_fail_each_alone(store: DocumentStore) -> None:
    store.commit(changes(Write("a.md", b"one")))
    outcomes = store.commit_each(
        [
            changes(Write("b.md", b"two")),
            changes(Write("a.md", b"mine", expected="")),
            changes(Write("../c.md", b"out")),
            changes(Write("b.md", b"three")),
        ]
    )
    assert [type(outcome).__name__ for outcome in outcomes] == ["Commit", "Conflict", "InvalidPath", "Commit"]
    assert (store.read("a.md"), store.read("b.md"), store.count()) == (b"one", b"three", 2)
    assert [commit.seq for commit in store.commits()] == [3, 2, 1]
    assert store.commit_each([]) == []


@requirement("brain.bytes-exact")
def test_any_bytes_come_back_as_they_were(store: DocumentStore) -> None:
    contents = [b"", b"\0", bytes(range(256)), b"\xff\xfe", b"\r\n\r", "\ufeff# \u202e".encode(), b"x" * 70_000]
    store.commit(changes(*[Write(f"{number}.bin", content) for number, content in enumerate(contents)]))
    assert [store.read(f"{number}.bin") for number in range(len(contents))] == contents
