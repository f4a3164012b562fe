"""Tools are found by their words and by their meaning, the same way every time."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.models.static import StaticEmbedder
from limen.toolsets.ranking import ToolRanking, ToolText
from tests.requirements import requirement
from tests.unit.toolsets.toolsamples import TOOLS, WISHES

NAMES = list(TOOLS)
TEXTS = [ToolText(name, "", said, arguments) for name, (said, arguments) in TOOLS.items()]
TOKENS = ["create", "issue", "file", "list", "of", "the", "read_text", "getUser", "x", "7", "ünïcode", "時間"]
WORDS = st.lists(st.sampled_from(TOKENS))


@pytest.fixture(scope="module")
def full() -> ToolRanking:
    """The sample tools, by words and meaning."""
    return ToolRanking(TEXTS, StaticEmbedder())


@pytest.fixture(scope="module")
def plain() -> ToolRanking:
    """The sample tools, by words alone."""
    return ToolRanking(TEXTS)


def found(ranking: ToolRanking, query: str, most: int = 10) -> list[str]:
    """The names of the best."""
    return [NAMES[ranked.place] for ranked in ranking.rank(query)[:most]]


def share(ranking: ToolRanking, wishes: Sequence[tuple[str, str]], most: int) -> float:
    """How many wishes have their tool among the best."""
    return sum(wanted in found(ranking, wish, most) for wish, wanted in wishes) / len(wishes)


@requirement("gateway.find-tools-quality")
def test_most_wishes_find_their_tool(full: ToolRanking) -> None:
    # Floors a little below what was measured when they were written: 0.82, 0.94, 0.98.
    assert share(full, WISHES, 1) >= 0.78
    assert share(full, WISHES, 3) >= 0.9
    assert share(full, WISHES, 10) >= 0.94


def test_wishes_in_the_tools_own_words_need_no_model(plain: ToolRanking) -> None:
    assert share(plain, WISHES[:20], 1) >= 0.95


@pytest.mark.parametrize("name", NAMES)
def test_a_tools_own_name_finds_it_first(full: ToolRanking, plain: ToolRanking, name: str) -> None:
    assert found(full, name, 1) == [name]
    assert found(plain, name, 1) == [name]


def test_words_are_found_in_names_of_every_spelling() -> None:
    ranking = ToolRanking([ToolText("listOpenFiles"), ToolText("srv__send-mail"), ToolText("other.thing")])
    assert [ranked.place for ranked in ranking.rank("open file")] == [0]
    assert [ranked.place for ranked in ranking.rank("sending mails")] == [1]
    assert [ranked.place for ranked in ranking.rank("thing")] == [2]


def test_arguments_count_but_less_than_names() -> None:
    ranking = ToolRanking([ToolText("a", arguments="path where"), ToolText("path"), ToolText("b")])
    assert [ranked.place for ranked in ranking.rank("path")] == [1, 0]


def test_a_definition_is_read_with_its_arguments_and_whatever_is_odd_in_it() -> None:
    definition = b"""{"name":"t","title":null,"annotations":{"title":"T"},"description":"Does it.","inputSchema":
        {"properties":{"path":{"description":"Where."},"mode":{"enum":["fast",1]},"odd":true}}}"""
    assert ToolText.read(definition) == ToolText("t", "T", "Does it.", "path Where. mode  fast  odd ")
    assert ToolText.read(b'{"name":"t","description":7,"inputSchema":[]}') == ToolText("t")


def test_what_no_tool_speaks_of_finds_nothing_by_words(plain: ToolRanking) -> None:
    assert plain.rank("zyzzyva") == []
    assert ToolRanking([]).rank("anything") == []
    assert ToolRanking([], StaticEmbedder()).rank("anything") == []


def test_only_places_that_are_asked_for_are_ranked(full: ToolRanking) -> None:
    among = [NAMES.index("jira__create_ticket"), NAMES.index("jira__log_work")]
    assert found(full, "create an issue on github")[0] == "github__create_issue"
    assert {ranked.place for ranked in full.rank("create an issue on github", among)} <= set(among)
    assert NAMES[full.rank("create an issue on github", among)[0].place] == "jira__create_ticket"


@given(words=WORDS)
def test_scores_lie_between_nothing_and_one_and_fall(full: ToolRanking, plain: ToolRanking, words: list[str]) -> None:
    for ranking in (full, plain):
        scores = [ranked.score for ranked in ranking.rank(" ".join(words))]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score <= 1.0 for score in scores)


@given(words=st.permutations(["create", "a", "new", "issue", "in", "the", "repository"]))
def test_the_order_of_words_changes_nothing(plain: ToolRanking, words: list[str]) -> None:
    assert plain.rank(" ".join(words)) == plain.rank("create a new issue in the repository")


@given(st.lists(st.text(max_size=30), max_size=6), st.text(max_size=40))
def test_any_text_can_be_ranked_and_looked_for(texts: list[str], query: str) -> None:
    tools = [ToolText(text, text, text, text) for text in texts]
    first, second = ToolRanking(tools).rank(query), ToolRanking(tools).rank(query)
    assert first == second
    assert all(0 <= ranked.place < len(texts) for ranked in first)
