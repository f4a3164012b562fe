"""What a brain may rely on of its passage index, shown on the one in SQLite and on the oracle that judges it."""

import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from limen.brain.index.columns import DEAD
from limen.brain.index.ports import Filters, Page, PassageIndex
from limen.brain.index.sqlindex import SqlitePassageIndex
from limen.brain.records import DocumentId
from limen.db.sqlite import connect
from tests.contract.index_samples import WORDS, MemoryPassageIndex, WordEmbedder, a_page, assert_same, picture, put
from tests.environment import ROOT
from tests.requirements import requirement

EMBEDDER = WordEmbedder()
QUERY = EMBEDDER.embed(["amber cedar fjord"])[0]


@pytest.fixture(params=["memory", "sqlite", "sqlite, all in segments"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[PassageIndex]:
    made: PassageIndex
    match request.param:
        case "memory":
            made = MemoryPassageIndex(EMBEDDER)
        case "sqlite":
            made = SqlitePassageIndex(tmp_path / "index.db", EMBEDDER)
        case _:
            made = SqlitePassageIndex(tmp_path / "index.db", EMBEDDER, fresh_passages=0)
    with closing(made):
        yield made


def shown(index: PassageIndex, word: str) -> list[tuple[str, int]]:
    """Which live passages hold a word."""
    with index.view() as view:
        (found,) = view.postings("content", [word])
        numbers = [number for number in found.ids.tolist() if not view.columns.flags[number] & DEAD]
        return [(passage.document_id, passage.ordinal) for passage in view.passages(numbers)]


@requirement("index.contract")
def test_a_new_index_is_empty(index: PassageIndex) -> None:
    assert index.applied() == 0
    with index.view() as view:
        assert (view.applied, len(view.columns.document), len(view.columns.first)) == (0, 0, 0)
        assert view.nearest(QUERY, 10, None)[0].tolist() == []
        assert view.terms_with_prefix("a", 10) == []
        assert view.passages([]) == []


@requirement("index.contract")
def test_an_index_whose_terms_were_made_in_another_way_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with closing(SqlitePassageIndex(path, EMBEDDER)) as index:
        put(index, a_page("one", "amber birch"))
    with closing(connect(path, checksummed=True)) as db:
        db.execute("pragma user_version = 1")
    with closing(SqlitePassageIndex(path, EMBEDDER)) as index:
        assert (index.applied(), index.mark(), shown(index, "amber")) == (0, "", [])
        put(index, a_page("one", "amber birch"))
        assert shown(index, "amber") == [("one", 0)]
        assert index.verify() == []


@requirement("index.contract")
def test_what_was_applied_is_found_by_its_words(index: PassageIndex) -> None:
    put(index, a_page("one", "amber birch", "cedar amber amber"), a_page("two", "amber"))
    assert sorted(shown(index, "amber")) == [("one", 0), ("one", 1), ("two", 0)]
    assert shown(index, "cedar") == [("one", 1)]
    assert shown(index, "nothing") == []


@requirement("index.contract")
def test_a_document_takes_the_place_of_what_was_known_of_it(index: PassageIndex) -> None:
    put(index, a_page("one", "amber", "birch"), a_page("two", "amber"))
    put(index, a_page("one", "cedar"))
    assert (shown(index, "amber"), shown(index, "birch"), shown(index, "cedar")) == ([("two", 0)], [], [("one", 0)])


@requirement("index.contract")
def test_who_is_named_as_speaking_is_no_word_of_what_is_said(index: PassageIndex) -> None:
    put(index, a_page("one", "Ann: amber"))
    assert (shown(index, "amber"), shown(index, "ann")) == ([("one", 0)], [])
    with index.view() as view:
        assert view.columns.length.tolist() == [1]
        assert view.nearest(EMBEDDER.embed(["amber"])[0], 1, None)[1].tolist() == pytest.approx([1], abs=0.01)
        assert view.passages([0])[0].text == "Ann: amber"


@requirement("index.contract")
def test_it_knows_the_commit_it_is_at_and_how_much_it_has_of_a_document(index: PassageIndex) -> None:
    assert (index.mark(), index.count(DocumentId("one"))) == ("", 0)
    assert index.apply([a_page("one", "amber", "birch")], [], above=0, upto=3, mark="abc")
    assert (index.applied(), index.mark(), index.count(DocumentId("one"))) == (3, "abc", 2)
    index.clear()
    assert (index.mark(), index.count(DocumentId("one"))) == ("", 0)


@requirement("index.contract")
def test_a_removed_document_is_forgotten(index: PassageIndex) -> None:
    put(index, a_page("one", "amber"), a_page("two", "amber"))
    put(index, removed=["one", "never there"])
    assert shown(index, "amber") == [("two", 0)]
    with index.view() as view:
        assert len(view.nearest(QUERY, 10, None)[0]) == 1


@requirement("index.contract")
def test_who_comes_too_late_changes_nothing(index: PassageIndex) -> None:
    put(index, a_page("one", "amber"))
    assert not index.apply([a_page("two", "amber")], [DocumentId("one")], above=0, upto=5)
    assert (index.applied(), shown(index, "amber")) == (1, [("one", 0)])


@requirement("index.contract")
def test_a_view_does_not_change(index: PassageIndex) -> None:
    put(index, a_page("one", "amber"), a_page("two", "birch amber"))
    with index.view() as view:
        before = picture(view, QUERY)
        put(index, a_page("one", "amber cedar"), a_page("three", "amber"), removed=["two"])
        assert picture(view, QUERY) == before
    assert sorted(shown(index, "amber")) == [("one", 0), ("three", 0)]


@requirement("index.contract")
def test_the_nearest_come_first_and_only_of_allowed_documents(index: PassageIndex) -> None:
    put(index, a_page("far", "kettle lantern"), a_page("near", "amber cedar fjord"), a_page("half", "amber kettle"))
    with index.view() as view:
        numbers, cosines = view.nearest(QUERY, 2, None)
        assert [passage.document_id for passage in view.passages(numbers.tolist())] == ["near", "half"]
        assert cosines[0] == pytest.approx(1, abs=0.01)
        allowed = np.ones(len(view.columns.first), dtype=np.bool_)
        allowed[view.columns.document[numbers[0]]] = False
        numbers, _ = view.nearest(QUERY, 2, allowed)
        assert [passage.document_id for passage in view.passages(numbers.tolist())] == ["half", "far"]
        again = view.vectors(numbers)
        assert np.linalg.norm(again, axis=1) == pytest.approx([1, 1], abs=0.01)


@requirement("index.contract")
def test_frequent_terms_come_first_among_those_that_begin_alike(index: PassageIndex) -> None:
    put(index, a_page("one", "cedar cellar", "cellar census"), a_page("two", "cellar census delta"))
    with index.view() as view:
        assert view.terms_with_prefix("ce", 2) == ["cellar", "census"]


@requirement("index.contract")
def test_a_caller_that_fails_does_not_spoil_the_index(index: PassageIndex) -> None:
    put(index, a_page("one", "amber"))

    def fail() -> None:
        with index.view():
            raise ValueError("not the index's fault")

    with pytest.raises(ValueError, match="not the index's fault"):
        fail()
    assert shown(index, "amber") == [("one", 0)]


@requirement("index.contract")
def test_a_cleared_index_begins_anew(index: PassageIndex) -> None:
    put(index, a_page("one", "amber"))
    index.clear()
    assert (index.applied(), shown(index, "amber")) == (0, [])
    put(index, a_page("two", "amber"))
    assert shown(index, "amber") == [("two", 0)]


@requirement("index.contract")
def test_documents_without_passages_are_documents(index: PassageIndex) -> None:
    put(index, a_page("none"), a_page("one", "amber"), a_page("empty", ""))
    with index.view() as view:
        assert sorted(view.columns.count.tolist()) == [0, 1, 1]
        (found,) = view.postings("about", ["none"])
        assert view.columns.count[found.ids].tolist() == [0]
        chosen = view.select(Filters(path_prefix="memory/"))
        assert chosen is not None
        assert chosen.all()


@requirement("index.contract")
def test_a_sound_index_has_nothing_wrong_with_it(index: PassageIndex) -> None:
    put(index, a_page("one", "amber"), a_page("two", "birch"))
    put(index, removed=["one"])
    assert list(index.verify()) == []


def a_filed_page(name: str, texts: list[str], folder: str, **fields: Any) -> Page:
    return a_page(name, *texts, path=f"{folder}/{name}.md", **fields)


texts = st.lists(st.sampled_from([*WORDS, "Ann: amber", "yesterday", "seven?"]), max_size=6).map(" ".join)
names = st.sampled_from([f"d{number}" for number in range(8)])
pages = st.builds(
    a_filed_page,
    names,
    st.lists(texts, max_size=4),
    st.sampled_from(["wiki", "memory/global", "memory", "wiki/deep/er"]),
    tags=st.lists(st.sampled_from(["red", "blue", "green"]), max_size=3),
    day=st.none() | st.integers(-10, 30),
    scope=st.sampled_from(["wiki", "raw", "other"]),
    project=st.sampled_from(["", "limen", "other"]),
    kind=st.sampled_from(["", "note", "event"]),
    trust=st.sampled_from(["trusted", "untrusted"]),
    metadata=st.dictionaries(st.sampled_from(["a", "b"]), st.integers() | st.text(max_size=3) | st.none(), max_size=2),
)
commits = st.tuples(
    st.lists(pages, max_size=4), st.lists(names, max_size=2), st.sampled_from(["", "", "look", "settle", "reopen"])
)


@pytest.mark.slow
@pytest.mark.timeout(120)
@given(st.lists(commits, max_size=14), st.sampled_from([0, 3, 10, 1000]))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@requirement("index.contract")
def test_any_history_leaves_what_the_oracle_says(
    tmp_path_factory: pytest.TempPathFactory,
    history: list[tuple[list[Page], list[str], str]],
    fresh: int,
) -> None:
    path = tmp_path_factory.mktemp("index") / "index.db"
    oracle = MemoryPassageIndex(EMBEDDER)
    index = SqlitePassageIndex(path, EMBEDDER, fresh_passages=fresh)
    try:
        for written, removed, then in history:
            put(oracle, *written, removed=removed)
            put(index, *written, removed=removed)
            match then:
                case "settle":
                    index.settle()
                case "reopen":
                    index.close()
                    index = SqlitePassageIndex(path, EMBEDDER, fresh_passages=fresh)
                case "look":
                    with index.view() as view, oracle.view() as wanted:
                        assert_same(picture(view, QUERY), picture(wanted, QUERY))
                case _:
                    pass
        with index.view() as view, oracle.view() as wanted:
            assert_same(picture(view, QUERY), picture(wanted, QUERY))
        assert list(index.verify()) == []
    finally:
        index.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "brain" / ".limen" / "index.db"


@pytest.fixture
def opened(path: Path) -> Generator[Callable[..., SqlitePassageIndex]]:
    made: list[SqlitePassageIndex] = []

    def open_one(embedder: WordEmbedder | None = EMBEDDER, fresh_passages: int = 1000) -> SqlitePassageIndex:
        made.append(SqlitePassageIndex(path, embedder, fresh_passages=fresh_passages))
        return made[-1]

    yield open_one
    for index in made:
        index.close()


@requirement("index.contract")
def test_two_who_share_an_index_see_each_others_documents(opened: Callable[..., SqlitePassageIndex]) -> None:
    one, other = opened(fresh_passages=2), opened(fresh_passages=2)
    for number in range(10):
        put(one if number % 2 else other, a_page(f"d{number}", "amber"), removed=[f"d{number - 5}"])
        assert sorted(shown(one, "amber")) == sorted(shown(other, "amber"))
    assert len(shown(one, "amber")) == 5


@requirement("index.contract")
def test_an_index_whose_file_is_taken_away_is_empty(opened: Callable[..., SqlitePassageIndex], path: Path) -> None:
    one, other = opened(), opened()
    put(one, a_page("one", "amber"))
    with other.view() as view:
        path.unlink()
        assert view.applied == 1
        assert len(view.passages([0])) == 1
    assert (one.applied(), other.applied(), shown(other, "amber")) == (0, 0, [])
    put(other, a_page("two", "amber"))
    assert shown(one, "amber") == [("two", 0)]


@requirement("index.contract")
def test_one_clears_and_the_other_goes_on(opened: Callable[..., SqlitePassageIndex]) -> None:
    one, other = opened(), opened()
    put(one, a_page("one", "amber"))
    assert shown(other, "amber") == [("one", 0)]
    one.clear()
    assert other.applied() == 0
    put(other, a_page("two", "birch"))
    assert (shown(one, "amber"), shown(one, "birch")) == ([], [("two", 0)])


@requirement("index.contract")
def test_nothing_is_kept_of_a_document_that_cannot_be_embedded(opened: Callable[..., SqlitePassageIndex]) -> None:
    class Failing(WordEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            raise RuntimeError("no model")

    put(opened(), a_page("one", "amber"))
    index = opened(Failing())
    with pytest.raises(RuntimeError):
        index.apply([a_page("two", "amber")], [DocumentId("one")], above=1, upto=2)
    assert (index.applied(), shown(index, "amber")) == (1, [("one", 0)])


@pytest.mark.parametrize("fresh", [0, 1000])
@requirement("index.contract")
def test_another_model_embeds_everything_anew(opened: Callable[..., SqlitePassageIndex], fresh: int) -> None:
    index = opened(fresh_passages=fresh)
    put(index, a_page("one", "amber", "birch"))
    put(index, a_page("two", "cedar amber"))
    index.close()
    newer = WordEmbedder("words/2")
    index = opened(newer, fresh_passages=fresh)
    query = newer.embed(["cedar"])[0]
    with index.view() as view:
        assert view.nearest(query, 5, None)[0].tolist() == []
        none = view.vectors(np.array([0, 1], dtype=np.int32))
        assert (none.shape, none.any()) == ((2, newer.dimensions), False)
    index.settle()
    assert index.embedding_progress() == (3, 3)
    with index.view() as view:
        numbers, cosines = view.nearest(query, 1, None)
        assert view.passages(numbers.tolist())[0].text == "cedar amber"
        assert cosines[0] > 0.5


@requirement("index.contract")
def test_another_model_embeds_in_the_background(opened: Callable[..., SqlitePassageIndex]) -> None:
    first = opened()
    put(first, *(a_page(f"d{number}", "amber", "birch cedar") for number in range(40)))
    first.close()
    index = opened(WordEmbedder("words/2"))
    with index.view() as view:
        assert view.nearest(QUERY, 5, None)[0].tolist() == []
    while index.embedding_progress() != (80, 80):
        threading.Event().wait(0.01)
    with index.view() as view:
        assert len(view.nearest(QUERY, 5, None)[0]) == 5


@requirement("index.contract")
def test_what_was_written_without_a_model_is_embedded_by_who_has_one(opened: Callable[..., SqlitePassageIndex]) -> None:
    put(opened(None), a_page("one", "amber"))
    index = opened()
    put(index, a_page("two", "amber cedar fjord"))
    index.settle()
    assert index.embedding_progress() == (2, 2)
    with index.view() as view:
        assert len(view.nearest(QUERY, 5, None)[0]) == 2


@requirement("index.contract")
def test_many_threads_write_and_look(opened: Callable[..., SqlitePassageIndex]) -> None:
    index = opened(fresh_passages=10)
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for number in range(12):
                page = a_page(f"{name}{number}", "amber birch", "cedar")
                while True:
                    before = index.applied()
                    if index.apply([page], [], above=before, upto=before + 1):
                        break
                assert (f"{name}{number}", 0) in shown(index, "amber")
        except BaseException as error:  # noqa: BLE001 - a thread has no other way to tell its test
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert (index.applied(), len(shown(index, "cedar"))) == (48, 48)


@pytest.mark.slow
@pytest.mark.timeout(60)
@requirement("index.contract")
def test_several_processes_write_one_index(opened: Callable[..., SqlitePassageIndex], path: Path) -> None:
    index = opened(fresh_passages=10)
    driver = [sys.executable, "-m", "tests.contract.index_driver", str(path)]
    children = [subprocess.Popen([*driver, name, "30"], cwd=ROOT) for name in "abc"]
    assert [child.wait(50) for child in children] == [0, 0, 0]
    assert (index.applied(), len(shown(index, "cedar"))) == (90, 90)
    index.settle()
    assert len(shown(index, "cedar")) == 90
    assert list(index.verify()) == []
