"""The ranking finds answers by words, by what stands beside them, by who says them and by meaning, in any brain."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limen.brain.analysis import terms_of
from limen.brain.index.columns import DEAD
from limen.brain.index.ports import Page, Passage
from limen.brain.records import DocumentId
from limen.brain.retrieval.ports import Question, Ranked
from limen.brain.retrieval.ranking import PassageRanker
from limen.models.ports import Embedder
from tests.unit.brain.retrieval.memory_index import MemoryView, TinyEmbedder, a_page

TALK = (
    ("Anna", "Hi Ben, how was your weekend?"),
    ("Ben", "Great. I went to the pottery workshop."),
    ("Anna", "What did you make there?"),
    ("Ben", "A blue bowl with a dog on it."),
    ("Anna", "I stayed at home and read about pottery."),
)


def a_talk(path: str, turns: Sequence[tuple[str, str]], day: int | None = None, title: str = "") -> Page:
    passages: list[Passage] = []
    start = 0
    for speaker, said in turns:
        text = f"{speaker}: {said}"
        passages.append(Passage(start, start + len(text), text, speaker=speaker, label=len(speaker) + 2))
        start += len(text) + 1
    return Page(document_id=DocumentId(path), path=path, title=title or path, day=day, passages=passages)


def a_view(*pages: Page, embedder: Embedder | None = None) -> MemoryView:
    return MemoryView(list(pages), 1, embedder)


def ask(text: str, embedder: Embedder | None = None, *, words_matter: bool = True) -> Question:
    words = [word.strip("?.,") for word in text.split() if word.lower() not in {"what", "did", "the", "a", "who"}]
    terms = list(dict.fromkeys(term for word in words for term in terms_of(word)))
    vector = embedder.embed([" ".join(words)])[0] if embedder else None
    return Question(text=text, words=words, terms=terms if words_matter else (), vector=vector)


def rank(view: MemoryView, question: Question, limit: int = 50, embedder: Embedder | None = None) -> Ranked:
    return PassageRanker(embedder).rank(view, question, None, limit)


def texts(view: MemoryView, ranked: Ranked) -> list[str]:
    return [one.text for one in view.passages(ranked.numbers.tolist())]


def test_the_passage_with_more_of_the_words_comes_first() -> None:
    view = a_view(a_page("a.md", "green tea from japan"), a_page("b.md", "black tea with milk"), a_page("c.md", "rain"))
    assert texts(view, rank(view, ask("black tea")))[0] == "black tea with milk"


def test_what_has_nothing_to_do_with_the_question_is_not_found() -> None:
    view = a_view(a_page("a.md", "green tea"), a_page("b.md", "coffee"))
    assert texts(view, rank(view, ask("tea"))) == ["green tea"]


def test_a_rare_word_tells_more_than_a_frequent_one() -> None:
    pages = [a_page(f"{number}.md", f"tea number{number}") for number in range(20)]
    view = a_view(*pages, a_page("rare.md", "oolong cup"))
    assert texts(view, rank(view, ask("tea oolong")))[0] == "oolong cup"


def test_an_answer_is_found_beside_the_words_that_were_asked_for() -> None:
    view = a_view(a_talk("talk.md", TALK), a_talk("other.md", [("Ben", "The car is red."), ("Anna", "Good.")]))
    assert "Ben: A blue bowl with a dog on it." in texts(view, rank(view, ask("Ben make pottery workshop")))[:3]


def test_who_says_it_counts_when_the_question_names_somebody() -> None:
    view = a_view(a_talk("talk.md", [("Anna", "I like pottery."), ("Zoe", "Yes."), ("Ben", "I like pottery.")]))
    assert texts(view, rank(view, ask("What did Ben say about pottery?")))[0] == "Ben: I like pottery."
    assert texts(view, rank(view, ask("What did Anna say about pottery?")))[0] == "Anna: I like pottery."
    assert texts(view, rank(view, ask("what did ben say about pottery")))[0] == "Ben: I like pottery."


def test_a_name_alone_finds_what_its_bearer_says() -> None:
    many = [a_page(f"{number}.md", *(f"note {number} {place}" for place in range(10))) for number in range(200)]
    view = a_view(*many, a_talk("talk.md", TALK))
    found = texts(view, rank(view, ask("Ben")))
    assert found[0].startswith("Ben: ")


def test_a_role_is_a_word_like_others() -> None:
    view = a_view(
        a_talk("talk.md", [("Assistant", "Here you are."), ("User", "My assistant manager is Kim."), ("User", "Fine.")])
    )
    assert texts(view, rank(view, ask("Assistant manager")))[0] == "User: My assistant manager is Kim."


def test_the_date_asked_for_lifts_the_passages_of_that_document() -> None:
    turns = [("Anna", "We went camping."), ("Ben", "Nice.")]
    june = a_talk("june.md", turns, title="Talk of 8 June 2023")
    july = a_talk("july.md", turns, title="Talk of 9 July 2023")
    view = a_view(june, july, a_talk("may.md", TALK, title="Talk of 2 May 2023"))
    best = rank(view, ask("Anna camping July")).numbers[:1].tolist()
    assert view.passages(best)[0].path == "july.md"


def test_a_heading_and_a_title_count() -> None:
    view = a_view(
        a_page("a.md", "press the button twice", heading="Reset the clock"), a_page("b.md", "press the button once")
    )
    assert texts(view, rank(view, ask("button clock")))[0] == "press the button twice"
    named = a_view(a_page("a.md", "press the button", title="Toaster"), a_page("b.md", "press the button"))
    assert named.passages(rank(named, ask("button toaster")).numbers.tolist())[0].path == "a.md"


def test_meaning_finds_what_words_do_not() -> None:
    tiny = TinyEmbedder()
    view = a_view(a_page("a.md", "the red automobile was parked"), a_page("b.md", "tea"), embedder=tiny)
    ranked = rank(view, ask("vehicle", tiny), embedder=tiny)
    assert texts(view, ranked) == ["the red automobile was parked"]
    assert ranked.components["semantic"][0] > 0.9
    assert ranked.components["bm25"][0] == 0


def test_words_do_not_matter_when_there_are_none() -> None:
    tiny = TinyEmbedder()
    view = a_view(a_page("a.md", "a car"), a_page("b.md", "cat parked"), embedder=tiny)
    assert texts(view, rank(view, ask("vehicle parked", tiny, words_matter=False), embedder=tiny)) == ["a car"]


@pytest.mark.parametrize("text", ["", "zzz"])
def test_an_empty_brain_and_an_unknown_word_find_nothing(text: str) -> None:
    assert len(rank(a_view(), ask("tea")).numbers) == 0
    assert len(rank(a_view(a_page("a.md", "tea")), ask(text)).numbers) == 0


def test_the_dead_are_never_shown() -> None:
    view = a_view(a_page("a.md", "green tea"), a_page("b.md", "black tea"))
    view.columns.flags[0] |= DEAD
    assert texts(view, rank(view, ask("tea"))) == ["black tea"]


def test_a_needle_is_found_among_many_and_so_is_what_stands_beside_it() -> None:
    many = [a_page(f"{number}.md", *(f"tea and note {place}" for place in range(10))) for number in range(300)]
    talk = a_talk("talk.md", [("Ben", "Have you been to the oolong tea house?"), ("Anna", "Yes, in spring.")])
    view = a_view(*many, talk)
    found = texts(view, rank(view, ask("What did Anna say about the oolong tea house?")))
    assert "Anna: Yes, in spring." in found[:2]


WORDS = st.lists(st.sampled_from(["tea", "milk", "japan", "car", "rain", "blue"]), min_size=1, max_size=5).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=6), WORDS, st.data())
def test_a_score_depends_on_neither_limit_nor_mask_and_order_is_fixed(
    documents: list[list[str]], query: str, data: st.DataObject
) -> None:
    tiny = TinyEmbedder()
    view = a_view(*(a_page(f"{at}.md", *some) for at, some in enumerate(documents)), embedder=tiny)
    question = ask(query, tiny)
    ranker = PassageRanker(tiny)
    whole = ranker.rank(view, question, None, 1000)
    scores = dict(zip(whole.numbers.tolist(), whole.scores.tolist(), strict=True))
    assert whole.scores.tolist() == sorted(whole.scores.tolist(), reverse=True)
    assert all(0 < score < 1 for score in scores.values())
    assert all(len(values) == len(whole.numbers) for values in whole.components.values())
    limit = data.draw(st.integers(1, 10))
    assert ranker.rank(view, question, None, limit).numbers.tolist() == whole.numbers.tolist()[:limit]
    mask = np.array([data.draw(st.booleans()) for _ in documents], dtype=np.bool_)
    masked = ranker.rank(view, question, mask, 1000)
    expected = [number for number in whole.numbers.tolist() if mask[view.columns.document[number]]]
    assert masked.numbers.tolist() == expected
    assert masked.scores.tolist() == pytest.approx([scores[number] for number in expected])
