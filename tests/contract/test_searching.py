"""What is written to a brain is found through its real index: exact spans, every language and filter, any query."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from limen.brain.documents.vault import open_vault
from limen.brain.index.ports import Filters
from limen.brain.index.sqlindex import SqlitePassageIndex
from limen.brain.ingest.pages import decode, page_of
from limen.brain.ports import DocumentStore
from limen.brain.records import BrainId, ChangeSet, Facts, Write
from limen.brain.retrieval.calendardays import day_of
from limen.brain.retrieval.following import Follower
from limen.brain.retrieval.search import Hit, Searcher, SearchRequest
from limen.errors import InvalidArguments
from limen.models.ports import Embedder
from limen.models.static import StaticEmbedder
from tests.unit.brain.retrieval.test_languages import FACTS

Find = Callable[[SearchRequest], list[Hit]]
EMBEDDER = StaticEmbedder()

DIARY = """# Diary of Nora

## The boat

We repaired the old boat with epoxy resin. The keel was rotten, so it took two weeks.

## The garden

Tomatoes and basil grow beside the `water_tank_sensor` that Tim installed.
"""
TALK = """# Session 3

Nora: Did you ever finish the novel?
Tim: Yes, yesterday! I read it on the ferry.
"""


@contextmanager
def a_brain(root: Path, embedder: Embedder | None) -> Generator[tuple[DocumentStore, Find]]:
    """A new brain, and the way to search it."""
    store, index = open_vault(root, BrainId("b")), SqlitePassageIndex(root / ".limen" / "index.db", embedder)
    follower, searcher = Follower(store, index, page_of), Searcher(index, embedder)
    yield store, lambda asked: list(follower.fresh(lambda: searcher.search(asked)).hits)
    index.close()
    store.close()


@pytest.fixture(scope="module", params=[None, EMBEDDER], ids=["words", "meaning"])
def brain(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[tuple[DocumentStore, Find]]:
    with a_brain(tmp_path_factory.mktemp("brain"), request.param) as (store, find):
        write(store, "memory/global/diary.md", DIARY, date="2023-05-08", tags="boat,home")
        write(store, "memory/project/ferry/plan.md", "Take the ferry at noon.", date="2023-06-14")
        write(store, "transcripts/session3.md", TALK, date="2023-06-15")
        write(store, "raw/documents/page.md", "A boat for sale, says a page of the web.", trust="untrusted")
        yield store, find


@pytest.fixture
def find(brain: tuple[DocumentStore, Find]) -> Find:
    return brain[1]


def write(store: DocumentStore, path: str, text: str, **metadata: str) -> None:
    change = Write(path, text.encode(), Facts(metadata=metadata))
    store.commit(ChangeSet(changes=(change,), actor="test", reason="test"))


def test_the_span_of_a_hit_is_its_content_in_the_document(brain: tuple[DocumentStore, Find]) -> None:
    store, find = brain
    hits = find(SearchRequest(query="boat novel tomatoes"))
    assert len(hits) >= 3
    for hit in hits:
        assert decode(store.read(hit.path))[hit.start : hit.end] == hit.content
        assert all(0 <= start < end <= len(hit.content) for start, end in hit.highlights)


def test_what_is_asked_for_comes_first(find: Find) -> None:
    hit = find(SearchRequest(query="How was the boat repaired?"))[0]
    assert "epoxy resin" in hit.content
    assert "boat" in hit.why


@pytest.mark.parametrize(
    "query", ["water_tank_sensor", "tank sensor", "TANK", "sensor AND basil", '"basil grow"', "tomat*"]
)
def test_names_phrases_and_prefixes_are_found(find: Find, query: str) -> None:
    assert "water_tank_sensor" in find(SearchRequest(query=query))[0].content


def test_who_says_it_can_be_asked_for(find: Find) -> None:
    (hit,) = find(SearchRequest(query="Tim AND ferry AND read"))
    assert hit.content.startswith("Tim: Yes")


@pytest.mark.parametrize(
    ("filters", "paths"),
    [
        (Filters(scopes=frozenset({"global"})), {"memory/global/diary.md"}),
        (Filters(project="ferry"), {"memory/project/ferry/plan.md"}),
        (Filters(tags=frozenset({"boat", "home"})), {"memory/global/diary.md"}),
        (Filters(path_prefix="raw/"), {"raw/documents/page.md"}),
        (Filters(trust="untrusted"), {"raw/documents/page.md"}),
        (Filters(first_day=day_of(2023, 6, 1), last_day=day_of(2023, 6, 14)), {"memory/project/ferry/plan.md"}),
        (Filters(tags=frozenset({"nobody"})), set[str]()),
    ],
)
def test_filters_hold(find: Find, filters: Filters, paths: set[str]) -> None:
    found = find(SearchRequest(query="boat ferry novel in May 2023", filters=filters, limit=100))
    assert {hit.path for hit in found} == paths


def test_a_typing_error_is_forgiven(find: Find) -> None:
    assert "epoxy" in find(SearchRequest(query="epxy"))[0].content


@pytest.mark.parametrize("embedder", [None, EMBEDDER], ids=["words", "meaning"])
def test_a_fact_is_found_by_its_word_in_every_language(tmp_path: Path, embedder: Embedder | None) -> None:
    with a_brain(tmp_path, embedder) as (store, find):
        for language, (fact, _, _) in FACTS.items():
            write(store, f"memory/global/{language}.md", fact)
        for language, (_, word, _) in FACTS.items():
            assert find(SearchRequest(query=word))[0].path == f"memory/global/{language}.md", word


@pytest.mark.parametrize(
    "query",
    ['"', "*", "NEAR(", "a OR", "NOT boat", '"boat', "boat AND", "b*", "boat NOT boat", "x" * 4096, "🛶", "\x00boat"],
)
def test_no_query_is_a_syntax_error_and_the_next_one_works(find: Find, query: str) -> None:
    find(SearchRequest(query=query, explain=True))
    assert find(SearchRequest(query="boat"))


@pytest.mark.parametrize("limit", [-1, 0, 101, 10**9])
def test_a_limit_out_of_bounds_is_refused_by_name(find: Find, limit: int) -> None:
    with pytest.raises(InvalidArguments) as refused:
        find(SearchRequest(query="boat", limit=limit))
    assert refused.value.facts == {"field": "limit"}
    assert find(SearchRequest(query="boat"))


def test_ten_thousand_terms_are_refused_by_name(find: Find) -> None:
    with pytest.raises(InvalidArguments) as refused:
        find(SearchRequest(query=" OR ".join(f"term{number}" for number in range(10_000))))
    assert refused.value.facts == {"field": "query"}
    assert find(SearchRequest(query="boat"))
