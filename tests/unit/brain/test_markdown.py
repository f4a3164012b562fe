"""What a document says of itself, and that nothing broken in it is ever an error."""

import sys
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.brain.days import day_number, find_date, find_path_date, read_date
from limen.brain.markdown import Frontmatter, date_of, kind_of, read_frontmatter, tags_in, title_of
from tests.requirements import requirement


@requirement("frontmatter.safe")
def test_frontmatter_is_a_mapping_and_the_body_follows_it() -> None:
    text = "---\ntitle: Runs\ntags: [a, b]\ncount: 3\nshare: 0.5\nis: true\nnone:\n---\nBody"
    head = read_frontmatter(text)
    assert head.values == {"title": "Runs", "tags": ["a", "b"], "count": 3, "share": 0.5, "is": True, "none": None}
    assert text[head.body :] == "Body"
    assert head.warning == ""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_do_not_matter(newline: str, mark: str) -> None:
    text = mark + newline.join(["---", "title: Runs", "---", "# Heading", ""])
    head = read_frontmatter(text)
    assert head.values == {"title": "Runs"}
    assert text[head.body :].startswith("# Heading")


@pytest.mark.parametrize(
    "block",
    [
        "- a\n- list",
        "just text",
        "42",
        "a: [1, 2",
        "a: b: c",
        "\tx: 1",
        "a: !!python/object/apply:os.system ['true']",
        "!!python/object:os.x {}",
        "a: !mine 3",
        "a: &x [1]\nb: *x",
        "a: &x 1\nb: 2",
        "? [complex]\n: value",
        "a: 1\n--- \nb: 2\n---",
        "a: \x01",
        "a: \ud800",
        "a: " + "[" * 100 + "]" * 100,
        "a:\n" + "- - - - - - - - " * 50 + "x",
        "a: [" + "1," * 20_000 + "]",
    ],
)
def test_what_is_no_plain_mapping_is_content_with_a_warning(block: str) -> None:
    head = read_frontmatter(f"---\n{block}\n---\nBody")
    if not head.values:
        assert head.body == 0
        assert head.warning
    else:
        # The block ended earlier, at a line of its own.
        assert head.values == {"a": 1}


def test_an_anchor_bomb_is_not_built() -> None:
    bomb = "a0: &a0 [x,x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1},*a{n - 1}]\n" for n in range(1, 60))
    assert read_frontmatter(f"---\n{bomb}---\n").values == {}


@requirement("frontmatter.safe")
def test_a_rule_at_the_beginning_is_no_frontmatter() -> None:
    assert read_frontmatter("---\n\nSome text without an end") == Frontmatter()
    assert read_frontmatter("----\na: 1\n---\n") == Frontmatter()


@requirement("frontmatter.safe")
def test_frontmatter_without_end_is_not_searched_through_a_whole_book() -> None:
    head = read_frontmatter("---\n" + "x: y\n" * 100_000)
    assert head.body == 0
    assert "65,536" in head.warning


@requirement("frontmatter.safe")
def test_a_document_without_frontmatter_does_not_load_yaml() -> None:
    before = "yaml" in sys.modules
    assert read_frontmatter("# Heading\n\ntext") == Frontmatter()
    assert ("yaml" in sys.modules) == before


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    for candidate in (text, f"---\n{text}\n---\n", f"---\na: {text}\n---\n{text}"):
        head = read_frontmatter(candidate)
        assert 0 <= head.body <= len(candidate)
        title_of(head, candidate)
        date_of(head, candidate, path=text, title=text)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: Given\n---\n# Heading", "Given"),
        ("---\ntitle: 2024\n---\n", "2024"),
        ("---\ntitle: [no]\n---\n# Heading", "Heading"),
        ("\ufeff# First ##\n", "First"),
        ("para\n\n## Second\n# First\n", "Second"),
        ("Title\n=====\n\ntext", "Title"),
        ("```sh\n# comment\n```\n# Real", "Real"),
        ("#hashtag\n\ntext", None),
        ("#\n\n# Later", "Later"),
        ("just text", None),
        ("", None),
    ],
)
def test_the_title_is_what_it_says_or_its_first_heading(text: str, title: str | None) -> None:
    assert title_of(read_frontmatter(text), text) == title


def test_a_title_of_a_megabyte_is_cut() -> None:
    text = "# " + "word " * 200_000
    title = title_of(read_frontmatter(text), text)
    assert title is not None
    assert len(title) <= 512


@pytest.mark.parametrize(
    ("value", "tags"),
    [
        ("a, b ,a", ["a", "b"]),
        (["#x", "y", 3, None, ["z"], True], ["x", "y", "3"]),
        (None, []),
        ({"a": 1}, []),
        ("", []),
        (["a,b"], ["a,b"]),
    ],
)
def test_tags_come_from_lists_and_from_comma_texts(value: object, tags: list[str]) -> None:
    assert tags_in(value) == tags


@pytest.mark.parametrize(
    "text",
    [
        "2023-05-08",
        "2023-05-08T23:59:00+02:00",
        "2023/5/8",
        "8 May 2023",
        "8th of May 2023",
        "1:56 pm on 8 May, 2023",
        "May 8, 2023",
        "Monday, May 8th 2023 at noon",
        "08-May-2023",
        "8.5.2023",
        "08.05.2023",
        "20230508",
        "Session of 8 MAY 2023, not of 9 May 2023",
    ],
)
def test_common_ways_to_write_a_day_are_understood(text: str) -> None:
    assert find_date(text) == date(2023, 5, 8)


@pytest.mark.parametrize("text", ["5/6/2023", "2023-02-30", "31.13.2023", "May", "8 May", "12345678901", "", "٢"])
def test_what_is_no_certain_day_is_none(text: str) -> None:
    assert find_date(text) is None


def test_a_slashed_date_counts_when_only_one_reading_is_possible() -> None:
    assert find_date("25/12/2023") == find_date("12/25/2023") == date(2023, 12, 25)


def test_fields_may_count_seconds_or_milliseconds() -> None:
    assert read_date(1_683_504_000) == read_date(1_683_504_000_000) == read_date(20230508) == date(2023, 5, 8)
    assert read_date(True) is read_date(7) is read_date([]) is read_date(float("nan")) is None


@pytest.mark.parametrize(
    "path", ["a/2023-05-08-run.md", "journal/2023/05/08.md", "x_20230508.md", "2023_05_08.txt", "n/8 May 2023.md"]
)
def test_paths_tell_the_day(path: str) -> None:
    assert find_path_date(path) == date(2023, 5, 8)


def test_the_name_of_the_file_counts_before_its_folders() -> None:
    assert find_path_date("2020-01-01/2023-05-08.md") == date(2023, 5, 8)
    assert find_path_date("notes/v1.2.3/port-20235.md") is None


@requirement("frontmatter.safe")
def test_frontmatter_then_path_then_title_then_a_date_line_tell_the_day() -> None:
    text = "---\nsession_date: 8 May 2023\n---\nDate: 2020-01-01\n"
    head = read_frontmatter(text)
    assert date_of(head, text, path="2021-01-01.md", title="2022-01-01") == date(2023, 5, 8)
    body = "**Date:** 1 January 2020\n\ntext"
    assert date_of(Frontmatter(), body, path="2021-01-01.md", title="2022-01-01") == date(2021, 1, 1)
    assert date_of(Frontmatter(), body, path="a.md", title="Notes of 2022-01-01") == date(2022, 1, 1)
    assert date_of(Frontmatter(), body, path="a.md") == date(2020, 1, 1)
    assert date_of(Frontmatter(), "Yesterday, 2019-01-01, it rained", path="a.md") is None


def test_days_count_from_1970() -> None:
    assert day_number(date(1970, 1, 1)) == 0
    assert day_number(date(1969, 12, 31)) == -1


@requirement("frontmatter.safe")
def test_the_kind_is_the_type_of_the_frontmatter() -> None:
    assert kind_of(read_frontmatter("---\ntype: person\n---\n")) == "person"
    assert kind_of(read_frontmatter("---\ntype: [x]\n---\n")) == ""
