"""The guide: Limen's documentation as sections, found by their words."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from limen.toolsets.guide import EXCERPT_CHARS, Guide, find_docs
from tests.requirements import requirement

PAGES = {
    "start.md": "# Start\n\nRun one command.\n\n## Approvals\n\nA person says yes or no.\n\n### Empty\n\n#### Deep\n",
    "wire/http.md": "# HTTP ##\n\nStreams and sessions; approval by elicitation.\n\n# Später\n\nZürich, naïve, 東京.\n",
    "long.md": "# Long\n\n" + "filler words here " * 100 + "needle " + "and more words " * 100,
    "notes.txt": "# Not a page\n\nneedle",
}


@pytest.fixture(scope="module")
def guide(tmp_path_factory: pytest.TempPathFactory) -> Guide:
    folder = tmp_path_factory.mktemp("docs")
    for name, page in PAGES.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(page, encoding="utf-8")
    return Guide(folder)


def test_pages_are_cut_at_their_headings_and_empty_sections_left_out(guide: Guide) -> None:
    assert [(section.path, section.title) for section in guide.sections] == [
        ("long.md", "Long"),
        ("start.md", "Start"),
        ("start.md", "Approvals"),
        ("start.md", "Empty"),
        ("wire/http.md", "HTTP"),
        ("wire/http.md", "Später"),
    ]


@requirement("hub.search")
@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("command", "Start"),
        ("approval", "Approvals"),
        ("STREAMS", "HTTP"),
        ("zürich", "Später"),
        ("run runs running", "Start"),
    ],
)
def test_the_section_that_fits_best_comes_first(guide: Guide, query: str, best: str) -> None:
    hits = guide.search(query, 5)
    assert hits[0].title == best
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@requirement("hub.search")
def test_no_more_are_returned_than_were_asked_for(guide: Guide) -> None:
    assert len(guide.search("words streams command person", 2)) == 2


@pytest.mark.parametrize("query", ["", "   ", "?!", '"', "'; drop table section; --", "zzzz", "_", "NOT", "\x00", "*"])
def test_a_query_that_finds_nothing_finds_nothing(guide: Guide, query: str) -> None:
    assert guide.search(query, 5) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60), st.integers(1, 50))
def test_no_query_whatever_raises(guide: Guide, query: str, limit: int) -> None:
    assert len(guide.search(query, limit)) <= limit
    guide.titles(query, limit)


def test_a_long_section_is_cut_around_what_was_looked_for(guide: Guide) -> None:
    [hit] = guide.search("needle", 5)
    assert "needle" in hit.excerpt
    assert len(hit.excerpt) <= EXCERPT_CHARS + 4
    assert hit.excerpt.startswith("…")
    assert hit.excerpt.endswith("…")


@requirement("hub.completion")
def test_titles_are_completed_those_that_begin_with_it_first(guide: Guide) -> None:
    assert guide.titles("", 3) == ["Approvals", "Empty", "HTTP"]
    assert guide.titles("ST", 9) == ["Start"]
    assert guide.titles("t", 9) == ["Empty", "HTTP", "Später", "Start"]
    assert guide.titles("p", 9) == ["Approvals", "Empty", "HTTP", "Später"]
    assert guide.titles("nothing", 9) == []


def test_without_documentation_nothing_is_found() -> None:
    guide = Guide(None)
    assert (guide.search("command", 5), guide.titles("", 5), list(guide.sections)) == ([], [], [])


@requirement("hub.search")
def test_limens_own_documentation_is_there_and_searchable() -> None:
    folder = find_docs()
    assert folder is not None
    assert Path(folder, "ARCHITECTURE.md").is_file()
    assert Guide(folder).search("pipeline policy audit", 5)
