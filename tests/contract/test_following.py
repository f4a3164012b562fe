"""An index follows its store to the last commit, whoever else follows, and whatever happened to either of them."""

import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from limen.brain.documents.vault import open_vault
from limen.brain.index.ports import Page, PassageIndex
from limen.brain.index.sqlindex import SqlitePassageIndex
from limen.brain.ingest.pages import page_of
from limen.brain.ports import DocumentStore
from limen.brain.records import BrainId, Change, ChangeSet, Delete, DocumentRecord, Rename, Write
from limen.brain.retrieval.following import Batch, Follower
from limen.brain.retrieval.search import Searcher, SearchRequest
from limen.errors import IndexBroken, Unreadable
from tests.requirements import requirement
from tests.unit.brain.retrieval.memory_index import MemoryIndex

OTHER_PROCESS = """
import sys
from pathlib import Path
from limen.brain.index.sqlindex import SqlitePassageIndex
from limen.brain.ingest.pages import page_of
from limen.brain.records import BrainId, ChangeSet, Write
from limen.brain.retrieval.following import Follower
from limen.brain.documents.vault import open_vault
root = Path(sys.argv[1])
store, index = open_vault(root, BrainId("b")), SqlitePassageIndex(root / ".limen" / "index.db", None)
follower = Follower(store, index, page_of)
for number in range(int(sys.argv[2])):
    path = f"memory/global/{sys.argv[3]}{number}.md"
    store.commit(ChangeSet(changes=(Write(path, b"kestrel " + path.encode()),), actor="t", reason="t"))
    follower.follow()
index.close()
store.close()
"""


@pytest.fixture
def store(tmp_path: Path) -> Generator[DocumentStore]:
    vault = open_vault(tmp_path / "brain", BrainId("b"))
    yield vault
    vault.close()


@pytest.fixture(params=["memory", "sqlite"])
def index(request: pytest.FixtureRequest, tmp_path: Path, store: DocumentStore) -> Generator[PassageIndex]:
    made = MemoryIndex() if request.param == "memory" else SqlitePassageIndex(index_file(tmp_path), None)
    yield made
    made.close()


def index_file(tmp_path: Path) -> Path:
    return tmp_path / "brain" / ".limen" / "index.db"


def change(store: DocumentStore, *changes: Change) -> int:
    return store.commit(ChangeSet(changes=changes, actor="test", reason="test")).seq


def write(store: DocumentStore, path: str, text: str) -> int:
    return change(store, Write(path, text.encode()))


def paths(index: PassageIndex, query: str) -> set[str]:
    return {hit.path for hit in Searcher(index, None).search(SearchRequest(query=query, limit=100)).hits}


@requirement("index.follows")
def test_what_was_written_is_found(store: DocumentStore, index: PassageIndex) -> None:
    follower = Follower(store, index, page_of)
    head = write(store, "memory/global/a.md", "a kestrel on the wire")
    assert follower.follow() == head == index.applied()
    assert paths(index, "kestrel") == {"memory/global/a.md"}


@requirement("index.follows")
def test_an_empty_store_has_an_empty_index(store: DocumentStore, index: PassageIndex) -> None:
    assert Follower(store, index, page_of).follow() == 0
    assert paths(index, "kestrel") == set()


@requirement("index.follows")
def test_changed_moved_and_deleted_documents_are_found_as_they_are_now(
    store: DocumentStore, index: PassageIndex
) -> None:
    follower = Follower(store, index, page_of)
    for name in "abcd":
        write(store, f"{name}.md", f"kestrel {name}")
    follower.follow()
    write(store, "a.md", "a heron instead")
    change(store, Rename("b.md", "moved.md"), Delete("c.md"))
    change(store, Rename("d.md", "over.md"), Write("x.md", b"kestrel x"), Delete("x.md"))
    write(store, "victim.md", "kestrel victim")
    change(store, Rename("over.md", "victim.md"))
    follower.follow()
    assert paths(index, "kestrel") == {"moved.md", "victim.md"}
    assert paths(index, "heron") == {"a.md"}


@requirement("index.follows")
def test_only_the_last_state_of_each_document_is_read(store: DocumentStore) -> None:
    read: list[str] = []

    def counted(record: DocumentRecord, content: bytes) -> Page:
        read.append(record.path)
        return page_of(record, content)

    for number in range(20):
        write(store, f"{number % 3}.md", f"kestrel {number}")
    index = MemoryIndex()
    Follower(store, index, counted, Batch(commits=4)).follow()
    assert sorted(read) == ["0.md", "1.md", "2.md"]
    assert index.applied() == store.head()


@requirement("index.follows")
def test_many_commits_are_followed_in_batches(store: DocumentStore) -> None:
    for number in range(10):
        write(store, f"{number}.md", f"kestrel {number}")
    index = MemoryIndex()
    told: list[tuple[int, int]] = []
    Follower(store, index, page_of, Batch(documents=3)).rebuild(lambda at, head: told.append((at, head)))
    assert index.applies == 4
    assert told == sorted(told)
    assert told[-1] == (10, 10)


@requirement("index.follows")
def test_an_index_from_the_future_is_made_anew(store: DocumentStore, index: PassageIndex) -> None:
    write(store, "a.md", "kestrel")
    index.apply([], [], above=0, upto=50, mark="other")
    assert Follower(store, index, page_of).follow() == 1
    assert paths(index, "kestrel") == {"a.md"}


@requirement("index.follows")
def test_an_index_of_another_store_is_made_anew(store: DocumentStore, index: PassageIndex) -> None:
    write(store, "a.md", "kestrel")
    write(store, "b.md", "kestrel")
    index.apply([], [], above=0, upto=1, mark="some other commit")
    assert Follower(store, index, page_of).follow() == 2
    assert paths(index, "kestrel") == {"a.md", "b.md"}


@requirement("index.follows")
def test_a_rebuilt_index_finds_the_same(store: DocumentStore, index: PassageIndex) -> None:
    follower = Follower(store, index, page_of)
    for number in range(5):
        write(store, f"{number}.md", f"kestrel {number}")
    follower.follow()
    before = paths(index, "kestrel")
    assert follower.rebuild() == store.head()
    assert paths(index, "kestrel") == before


@requirement("index.follows")
def test_a_search_finds_what_was_written_just_before_it(store: DocumentStore, index: PassageIndex) -> None:
    follower = Follower(store, index, page_of)
    for name in "abc":
        write(store, f"{name}.md", "kestrel")
        assert f"{name}.md" in follower.fresh(lambda: paths(index, "kestrel"))


@requirement("index.follows")
def test_a_broken_index_is_replaced_and_asked_again(store: DocumentStore) -> None:
    index = MemoryIndex()
    follower = Follower(store, index, page_of)
    write(store, "a.md", "kestrel")
    follower.follow()
    index.is_broken = True
    assert follower.fresh(lambda: paths(index, "kestrel")) == {"a.md"}
    assert index.clears == 1


@requirement("index.follows")
def test_an_index_that_breaks_again_at_once_is_reported(store: DocumentStore) -> None:
    def fail() -> None:
        raise IndexBroken("always")

    asked: list[int] = []

    def ask() -> None:
        asked.append(1)
        fail()

    write(store, "a.md", "kestrel")
    with pytest.raises(IndexBroken):
        Follower(store, MemoryIndex(), page_of).fresh(ask)
    assert len(asked) == 2


@requirement("index.follows")
def test_a_damaged_file_is_replaced_before_it_answers(store: DocumentStore, tmp_path: Path) -> None:
    index = SqlitePassageIndex(index_file(tmp_path), None)
    for number in range(50):
        write(store, f"{number}.md", f"kestrel number {number}")
    Follower(store, index, page_of).follow()
    index.close()
    damaged = bytearray(index_file(tmp_path).read_bytes())
    for place in range(5000, len(damaged), 1000):
        damaged[place] ^= 0xFF
    index_file(tmp_path).write_bytes(damaged)
    again = SqlitePassageIndex(index_file(tmp_path), None)
    follower = Follower(store, again, page_of)
    assert len(follower.fresh(lambda: paths(again, "kestrel"))) == 50
    again.close()


@requirement("index.follows")
def test_a_document_that_cannot_be_read_is_left_out_and_the_rest_is_followed(store: DocumentStore) -> None:
    def picky(record: DocumentRecord, content: bytes) -> Page:
        if record.path == "bad.md":
            raise Unreadable("no text in it")
        return page_of(record, content)

    write(store, "bad.md", "kestrel")
    write(store, "good.md", "kestrel")
    index = MemoryIndex()
    Follower(store, index, picky).follow()
    assert paths(index, "kestrel") == {"good.md"}


@requirement("index.follows")
def test_whoever_is_overtaken_goes_on_from_there(store: DocumentStore) -> None:
    index = MemoryIndex()
    first, second = Follower(store, index, page_of), Follower(store, index, page_of)
    write(store, "a.md", "kestrel")

    def overtake() -> None:
        index.before_apply = lambda: None
        write(store, "b.md", "kestrel")
        second.follow()

    index.before_apply = overtake
    assert first.follow() == 2
    assert paths(index, "kestrel") == {"a.md", "b.md"}


@requirement("index.follows")
def test_a_document_that_vanishes_while_it_is_read_is_no_failure(store: DocumentStore) -> None:
    index = MemoryIndex()
    write(store, "a.md", "kestrel")
    write(store, "b.md", "kestrel")

    def meddling(record: DocumentRecord, content: bytes) -> Page:
        if record.path == "a.md" and store.exists("b.md"):
            change(store, Delete("b.md"))
        return page_of(record, content)

    assert Follower(store, index, meddling).follow() == 3
    assert paths(index, "kestrel") == {"a.md"}


@requirement("index.follows")
def test_threads_that_follow_at_once_all_end_at_the_head(store: DocumentStore, index: PassageIndex) -> None:
    follower = Follower(store, index, page_of)
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for number in range(10):
                write(store, f"{name}{number}.md", "kestrel")
                follower.follow()
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert follower.follow() == store.head() == 20
    assert len(paths(index, "kestrel")) == 20


@pytest.mark.slow
@pytest.mark.timeout(60)
@requirement("index.follows")
def test_processes_that_write_and_follow_at_once_all_end_at_the_head(tmp_path: Path) -> None:
    root = tmp_path / "brain"
    open_vault(root, BrainId("b")).close()
    children = [
        subprocess.Popen([sys.executable, "-c", OTHER_PROCESS, str(root), "20", name], stderr=subprocess.PIPE)
        for name in "xyz"
    ]
    outcomes = [(child.communicate(timeout=50)[1].decode(), child.returncode) for child in children]
    assert [code for _, code in outcomes] == [0, 0, 0], outcomes
    store, index = open_vault(root, BrainId("b")), SqlitePassageIndex(index_file(tmp_path), None)
    assert index.applied() == store.head() == 60
    assert len(Follower(store, index, page_of).fresh(lambda: paths(index, "kestrel"))) == 60
    index.close()
    store.close()
