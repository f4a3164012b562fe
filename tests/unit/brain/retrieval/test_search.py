"""A search finds what was asked for and nothing that was ruled out, says why, and answers the same each time."""

import random
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from limen.brain.index.ports import Filters, IndexView, Page, Passage
from limen.brain.retrieval.calendardays import day_of
from limen.brain.retrieval.ports import Question, Ranked
from limen.brain.retrieval.search import Hit, Searcher, SearchRequest
from limen.brain.retrieval.weights import combined
from limen.errors import IndexBroken, InvalidArguments
from tests.requirements import requirement
from tests.unit.brain.retrieval.memory_index import TinyEmbedder, a_page, an_index

PAGES = (
    a_page("memory/global/tea.md", "green tea from japan", "black tea with milk", day=day_of(2023, 5, 8)),
    a_page("memory/global/coffee.md", "black coffee without milk", "coffee beans from brazil", day=day_of(2023, 6, 20)),
    a_page("memory/project/kitchen/stock.md", "we have tea and coffee and sugar", day=day_of(2022, 1, 1)),
    a_page("raw/documents/cars.md", "the red automobile was parked", "a feline slept on it", trust="untrusted"),
)


def searcher(*pages: Page, semantic: bool = False) -> Searcher:
    embedder = TinyEmbedder() if semantic else None
    return Searcher(an_index(*(pages or PAGES), embedder=embedder), embedder)


def find(query: str, *pages: Page, semantic: bool = False, **asked: Any) -> list[Hit]:
    return list(searcher(*pages, semantic=semantic).search(SearchRequest(query=query, **asked)).hits)


def contents(hits: list[Hit]) -> set[str]:
    return {hit.content for hit in hits}


@requirement("search.exact-spans")
def test_a_hit_says_what_it_is_where_it_stands_and_why() -> None:
    hit = find("japan")[0]
    assert hit.chunk_id == "doc-memory/global/tea.md:0"
    assert (hit.path, hit.content, hit.start, hit.end) == ("memory/global/tea.md", "green tea from japan", 0, 20)
    assert hit.highlights == ((15, 20),)
    assert (hit.date, hit.scope, hit.trust) == ("2023-05-08", "global", "trusted")
    assert "japan" in hit.why
    assert 0 < hit.score <= 1
    assert hit.components["bm25"] > 0


def test_the_better_match_comes_first() -> None:
    assert find("black tea")[0].content == "black tea with milk"


def test_scores_fall_and_stay_between_0_and_1() -> None:
    scores = [hit.score for hit in find("tea coffee milk")]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_all_that_and_joins_must_be_there() -> None:
    assert contents(find("tea AND sugar")) == {"we have tea and coffee and sugar"}
    assert contents(find("black AND tea OR coffee")) == {"black tea with milk", "black coffee without milk"}


def test_what_not_names_must_not_be_there() -> None:
    hits = find("tea NOT green")
    assert contents(hits) == {"black tea with milk", "we have tea and coffee and sugar"}


def test_a_phrase_is_verified_in_the_text() -> None:
    pages = (a_page("a.md", "red wine is good"), a_page("b.md", "wine that is red"))
    assert contents(find('"red wine"', *pages)) == {"red wine is good"}
    assert find('"wine red"', *pages) == []


def test_who_says_something_counts_as_being_in_it() -> None:
    said = Passage(0, 19, "Nora: the boat sank", speaker="Nora", label=6)
    other = Passage(20, 38, "Tim: the boat left", speaker="Tim", label=5)
    page = msgspec.structs.replace(a_page("a.md"), passages=[said, other])
    assert contents(find("Nora AND boat", page)) == {said.text}
    assert contents(find('"Nora: the boat"', page)) == {said.text}
    assert contents(find("boat NOT nora", page)) == {other.text}


def test_a_forbidden_phrase_is_verified_in_the_text() -> None:
    pages = (a_page("a.md", "red wine is good"), a_page("b.md", "wine that is red"))
    assert contents(find('wine NOT "red wine"', *pages)) == {"wine that is red"}


def test_a_phrase_in_a_question_helps_and_does_not_rule_out() -> None:
    pages = (a_page("a.md", "we read it, little women, in may"), a_page("b.md", "women read little in may"))
    hits = find('who read "little women" in may?', *pages)
    assert [hit.path for hit in hits] == ["a.md", "b.md"]
    assert hits[0].components["phrase"] == 1


def test_a_prefix_finds_words_that_begin_so_and_no_others() -> None:
    pages = (a_page("a.md", "configure it"), a_page("b.md", "the configuration"), a_page("c.md", "a confident cook"))
    assert {hit.path for hit in find("confi* AND config*", *pages)} == {"a.md", "b.md"}
    assert {hit.path for hit in find("conf*", *pages)} == {"a.md", "b.md", "c.md"}


@pytest.mark.parametrize("semantic", [True, False])
@pytest.mark.parametrize(
    "filters",
    [
        Filters(scopes=frozenset({"project"})),
        Filters(project="kitchen"),
        Filters(path_prefix="memory/project/"),
        Filters(paths=frozenset({"memory/project/kitchen/stock.md"})),
        Filters(last_day=day_of(2022, 12, 31)),
    ],
)
@requirement("search.filters-every-leg")
def test_filters_hold_on_every_leg(filters: Filters, semantic: bool) -> None:
    asked = find("tea coffee vehicle cat in 2023", filters=filters, semantic=semantic)
    assert {hit.path for hit in asked} == {"memory/project/kitchen/stock.md"}


def test_untrusted_documents_can_be_left_out() -> None:
    assert find("vehicle", semantic=True)
    assert find("vehicle", semantic=True, filters=Filters(trust="trusted")) == []


def test_meaning_finds_what_words_do_not() -> None:
    assert find("vehicle") == []
    hit, *beside_it = find("vehicle", semantic=True)
    assert {other.path for other in beside_it} <= {hit.path}
    assert hit.content == "the red automobile was parked"
    assert hit.components["semantic"] > 0.9
    assert "meaning" in hit.why


@requirement("search.filters-every-leg")
def test_constraints_hold_for_what_meaning_finds() -> None:
    assert all("red" not in hit.content for hit in find("vehicle NOT red", semantic=True))
    assert find("vehicle AND blue", semantic=True) == []


@pytest.mark.parametrize(
    ("mode", "semantic", "used"),
    [
        ("auto", False, "bm25"),
        ("auto", True, "hybrid"),
        ("hybrid", False, "bm25"),
        ("hybrid", True, "hybrid"),
        ("bm25", True, "bm25"),
        ("semantic", True, "semantic"),
    ],
)
def test_the_answer_says_which_mode_was_used(mode: str, semantic: bool, used: str) -> None:
    request = msgspec.convert({"query": "tea", "mode": mode}, SearchRequest)
    assert searcher(semantic=semantic).search(request).mode == used


def test_meaning_alone_needs_an_embedder() -> None:
    with pytest.raises(InvalidArguments) as refused:
        find("tea", mode="semantic")
    assert refused.value.facts == {"field": "mode"}


def test_a_typing_error_is_forgiven_when_nothing_is_found_and_said() -> None:
    answer = searcher().search(SearchRequest(query="brasil", explain=True))
    assert answer.hits[0].content == "coffee beans from brazil"
    assert answer.hits[0].highlights
    assert answer.trace is not None
    assert "brazil" in answer.trace["fallbacks"][0]


def test_what_is_spelled_right_is_not_respelled() -> None:
    answer = searcher().search(SearchRequest(query="tea", explain=True))
    assert answer.trace is not None
    assert answer.trace["fallbacks"] == []


def test_a_document_of_the_day_asked_for_comes_first() -> None:
    pages = [a_page(f"d{month}.md", "we met for dinner", day=day_of(2023, month, 8)) for month in range(1, 10)]
    hits = find("who met for dinner on 8 May 2023?", *pages)
    assert hits[0].path == "d5.md"
    assert hits[0].components["date"] == 1
    assert "8 May 2023" in hits[0].why


def test_days_are_reckoned_from_the_day_of_the_question() -> None:
    pages = [a_page(f"d{month}.md", "we met for dinner", day=day_of(2023, month, 8)) for month in range(1, 10)]
    hits = find("who met for dinner two months ago?", *pages, question_date="2023-09-08")
    assert hits[0].path == "d7.md"


def test_a_dated_document_is_found_behind_many_that_match_as_well() -> None:
    many = [a_page(f"n{number:03}.md", "a dinner for some", day=day_of(2020, 1, 1)) for number in range(300)]
    hits = find("dinner on 8 May 2023", *many, a_page("z.md", "a dinner for all", day=day_of(2023, 5, 8)), limit=3)
    assert "z.md" in {hit.path for hit in hits}
    request = SearchRequest(query="dinner on 8 May 2023", explain=True)
    trace = searcher(*many).search(request).trace
    assert trace is not None
    assert "dated" in {leg["name"] for leg in trace["legs"]}


@pytest.mark.parametrize(("query", "first"), [("latest dinner", "d9.md"), ("earliest dinner", "d1.md")])
def test_the_newest_or_the_oldest_comes_first_when_it_is_asked_for(query: str, first: str) -> None:
    pages = [a_page(f"d{month}.md", "dinner", day=day_of(2023, month, 8)) for month in (4, 9, 1, 6)]
    assert find(query, *pages)[0].path == first


def test_the_newest_of_what_is_relevant_comes_first_when_sorted_by_recency() -> None:
    pages = (
        a_page("old.md", "tea tea tea", day=10),
        a_page("new.md", "tea and more", day=20),
        a_page("other.md", "coffee", day=30),
    )
    assert [hit.path for hit in find("tea", *pages, sort="recency")] == ["new.md", "old.md"]


def test_equally_relevant_hits_are_sorted_by_age() -> None:
    pages = (a_page("a.md", "tea time", day=10), a_page("b.md", "tea time", day=20), a_page("c.md", "more tea", day=5))
    paths = [hit.path for hit in find("tea time", *pages, sort="relevance_then_recency")]
    assert paths == ["b.md", "a.md", "c.md"]


def test_what_was_said_before_weighs_in_low() -> None:
    pages = (a_page("a.md", "the bank opened today"), a_page("b.md", "the bank flooded river"))
    assert find("bank", *pages)[0].path == "a.md"
    hits = find("bank", *pages, context=["we walked along the river", "it flooded"])
    assert hits[0].path == "b.md"
    assert hits[0].components["context"] > 0


def test_every_passage_is_a_hit_unless_only_the_best_of_each_document_is_wanted() -> None:
    page = a_page("a.md", *[f"tea number {number}" for number in range(400)])
    other = a_page("b.md", "one more tea")
    assert len(find("tea", page, other, limit=20)) == 20
    hits = find("tea", page, other, limit=20, collapse=True)
    assert sorted(hit.path for hit in hits) == ["a.md", "b.md"]


def test_a_document_is_as_good_as_its_best_passage() -> None:
    many = a_page("a.md", *["tea and other drinks that people like to have"] * 9)
    one = a_page("b.md", "green tea", "something else")
    assert [hit.path for hit in find("green tea", many, one, collapse=True)] == ["b.md", "a.md"]


def test_an_irregular_form_is_found_by_its_word_and_by_its_own_beginning() -> None:
    pages = (a_page("a.md", "she bought a boat"), a_page("b.md", "he may buy it"))
    assert {hit.path for hit in find("buy", *pages)} == {"a.md", "b.md"}
    assert {hit.path for hit in find("boug* AND boat", *pages)} == {"a.md"}


def test_a_demand_few_passages_meet_is_met_however_deep_they_lie() -> None:
    page = a_page("a.md", *["tea tea tea"] * 500, "tea with a rare spice", *["tea tea"] * 500)
    assert contents(find("tea AND spice", page)) == {"tea with a rare spice"}
    assert contents(find('tea "rare spice"', page)) == {"tea with a rare spice"}


@pytest.mark.parametrize(
    "query", ['"', "*", "NEAR(", "a OR", "NOT", "AND", '""', "((", "\\", "%", "';--", "a* NOT b*", "🎉"]
)
@pytest.mark.parametrize("semantic", [True, False])
@requirement("search.no-syntax-error")
def test_no_query_is_a_syntax_error(query: str, semantic: bool) -> None:
    for _ in range(2):
        assert isinstance(find(query, semantic=semantic), list)


@given(st.text(min_size=1, max_size=60))
def test_any_text_can_be_searched_for(text: str) -> None:
    try:
        hits = find(text, semantic=True)
    except InvalidArguments:
        assert not text.strip("\u200b\ufeff") or not text.isprintable()
    else:
        assert all(0 <= hit.score <= 1 for hit in hits)


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"limit": -1}, "limit"),
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"limit": 10**9}, "limit"),
        ({"query": ""}, "query"),
        ({"query": " \t\ufeff"}, "query"),
        ({"query": "x" * 4097}, "query"),
        ({"query": " ".join(f"term{number}" for number in range(10_000))}, "query"),
        ({"question_date": "2023-05-08T00:00:00+99:99"}, "question_date"),
        ({"question_date": "2023-05-08 Mars/Phobos"}, "question_date"),
    ],
)
def test_a_field_out_of_bounds_is_refused_by_name_and_the_next_search_works(asked: dict[str, Any], field: str) -> None:
    one = searcher()
    with pytest.raises(InvalidArguments) as refused:
        one.search(msgspec.structs.replace(SearchRequest(query="tea"), **asked))
    assert refused.value.facts == {"field": field}
    assert one.search(SearchRequest(query="tea")).hits


def test_a_query_of_very_many_words_is_searched() -> None:
    assert find("tea " + " ".join(f"w{number}" for number in range(700)))


def test_an_empty_brain_answers_nothing() -> None:
    empty = Searcher(an_index(), None)
    assert empty.search(SearchRequest(query="tea in 2023 NOT milk", explain=True)).hits == []


def test_the_same_question_has_the_same_answer_whatever_the_order_of_the_documents() -> None:
    pages = [a_page(f"p{number}.md", f"tea number {number % 3}", "milk and tea", day=number) for number in range(40)]
    first = find("tea milk in 1970", *pages, semantic=True, question_date="1970-03-01")
    random.Random(7).shuffle(pages)
    assert find("tea milk in 1970", *pages, semantic=True, question_date="1970-03-01") == first


@given(st.floats(0, 1), st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=6), st.randoms())
def test_a_score_does_not_depend_on_the_order_of_its_parts(
    base: float, parts: list[tuple[float, float]], chance: random.Random
) -> None:
    shuffled = parts.copy()
    chance.shuffle(shuffled)
    assert combined(base, parts) == combined(base, shuffled)
    assert 0 <= combined(base, parts) <= 1


def test_an_explained_answer_tells_how_it_came_about() -> None:
    request = SearchRequest(query='black NOT coffee "with milk" in May 2023', explain=True, question_date="2023-06-01")
    trace = searcher(semantic=True).search(request).trace
    assert trace is not None
    assert trace["query"]["must_not"] == [{"kind": "word", "text": "coffee"}]
    assert trace["query"]["must"] == [[{"kind": "phrase", "text": "with milk"}]]
    assert trace["dates"]["spans"][0]["first"] == "2023-05-01"
    assert trace["mode"] == {"asked": "auto", "used": "hybrid"}
    assert {leg["name"] for leg in trace["legs"]} >= {"ranked", "ranked.bm25", "ranked.semantic"}
    assert trace["documents"] == {"known": 4, "allowed": 1}
    assert set(trace["weights"]) >= {"date", "recency", "scope", "phrase"}
    assert msgspec.json.decode(msgspec.json.encode(trace)) == msgspec.to_builtins(trace)


def test_nothing_is_explained_unasked() -> None:
    assert searcher().search(SearchRequest(query="tea")).trace is None


def test_a_broken_index_is_not_searched() -> None:
    index = an_index(*PAGES)
    index.is_broken = True
    with pytest.raises(IndexBroken):
        Searcher(index, None).search(SearchRequest(query="tea"))


def test_another_ranking_can_be_put_in_place() -> None:
    class Fixed:
        def rank(self, view: IndexView, question: Question, allowed: "NDArray[np.bool_] | None", limit: int) -> Ranked:
            assert (view.applied, allowed, question.terms) == (1, None, ["tea"])
            assert limit >= 3
            return Ranked(
                np.array([4, 0, 2], np.int32), np.array([0.9, 0.5, 0.1]), {"fixed": np.array([1.0, 2.0, 3.0])}
            )

    answer = Searcher(an_index(*PAGES), None, Fixed()).search(SearchRequest(query="tea", limit=3))
    assert [hit.components["fixed"] for hit in answer.hits] == [1, 2, 3]
