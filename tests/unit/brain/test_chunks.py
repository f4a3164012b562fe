"""Passages are exact, lose nothing, cross no heading, and cost time in proportion to the text."""

import json
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limen.brain.blocks import read_blocks
from limen.brain.chunks import WHOLE, chunk
from limen.brain.index.ports import Passage
from limen.brain.spans import MOST
from tests.requirements import requirement

PIECES = st.sampled_from(
    [
        "# One\n",
        "## Two ##\n",
        "####### none\n",
        "Title\n=====\n",
        "- a\n- b\n\n  c\n",
        "1. x\n",
        "```py\n# no heading\n\nx\n```\n",
        "~~~\nopen\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "a | b\n--|--\n1 | 2\n",
        "---\n",
        "\n",
        "\n\n",
        "   \n",
        "\r\n",
        "word " * 60 + "\n",
        "A sentence. Another one! " * 70 + "\n",
        "x" * 1500 + "\n",
        "Ann: hello?\n",
        "**Bob:** yes.\n\n",
        "[10:00] Ann: more\n",
        "漢字。" * 500,
        "שלום עולם\n",
        "\x00\n",
        "\ufeff",
        "\ud800\n",
        "> quote\n",
    ]
)
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join))


def _is_mark(line: str) -> bool:
    """Whether a line may be in no passage: a heading, what underlines one, or a rule."""
    content = line.strip().strip("\ufeff").strip()
    return content.startswith("#") or not content.strip("-=*_ \t")


@given(TEXTS, st.sampled_from([None, True, False]))
@requirement("chunks.exact")
def test_every_passage_is_exactly_its_characters(text: str, known: bool | None) -> None:
    last = 0
    for passage in chunk(text, is_conversation=known):
        assert text[passage.start : passage.end] == passage.text
        assert passage.text.strip()
        assert last <= passage.start < passage.end
        assert 0 <= passage.label < len(passage.text)
        last = passage.end


@given(TEXTS)
@requirement("chunks.exact")
def test_nothing_but_headings_and_rules_is_left_out(text: str) -> None:
    covered = bytearray(len(text))
    for passage in chunk(text, is_conversation=False):
        covered[passage.start : passage.end] = b"\1" * (passage.end - passage.start)
    titles = {block.title for block in read_blocks(text) if block.kind == "heading"}
    at = 0
    for line in text.split("\n"):
        lost = [char for place, char in enumerate(line, at) if not covered[place] and not char.isspace()]
        assert not lost or _is_mark(line) or line.strip() in titles
        at += len(line) + 1


@given(TEXTS)
def test_no_passage_outgrows_its_limit(text: str) -> None:
    for passage in chunk(text):
        assert len(passage.text) - passage.label <= max(MOST, WHOLE)


def test_a_passage_carries_the_headings_above_it_and_crosses_none() -> None:
    text = "intro\n\n# A\n\none\n\n## B\n\ntwo\n\n# C\n\nthree\n"
    assert [(p.heading, p.text) for p in chunk(text)] == [
        ("", "intro"),
        ("A", "one"),
        ("A > B", "two"),
        ("C", "three"),
    ]


@requirement("chunks.exact")
def test_a_heading_with_nothing_beneath_is_a_passage_of_its_own() -> None:
    assert [(p.heading, p.text) for p in chunk("# A\n## B\n## C\ntext\n# D")] == [
        ("A", "## B"),
        ("A > C", "text"),
        ("", "# D"),
    ]


def test_small_neighbours_become_one_passage_and_large_ones_do_not() -> None:
    text = "\n\n".join(["short one."] * 20)
    assert len(chunk(text)) == 1
    text = "\n\n".join(["word " * 150] * 4)
    assert [len(p.text) for p in chunk(text)] == [749, 749, 749, 749]


def test_code_and_tables_stay_whole_until_they_are_huge() -> None:
    code = "```py\n" + "x = 1\n\n" * 400 + "```"
    table = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 300
    assert [p.text for p in chunk(f"{code}\n\n{table}")] == [code, table.strip()]
    huge = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 3000
    parts = chunk(huge)
    assert len(parts) > 10
    assert all(p.text.endswith("|") and p.text.startswith("|") for p in parts)


def test_a_short_list_is_not_torn_and_a_long_one_breaks_between_items() -> None:
    items = "\n".join(f"- item {n} " + "w " * 20 for n in range(15)).strip()
    filler = "word " * 150
    assert items in [p.text for p in chunk(f"{filler}\n\n{items}\n\n{filler}")]
    long = "\n".join(f"- item {n} " + "w " * 40 for n in range(60))
    assert all(p.text.startswith("- item") for p in chunk(long))


def test_long_paragraphs_break_between_sentences() -> None:
    text = "This is a sentence of some words. " * 200
    assert all(p.text.endswith(".") and p.text.startswith("This") for p in chunk(text))


def test_a_dialogue_becomes_one_passage_for_each_turn() -> None:
    text = "# Talk\n\nAnn Lee: Hi! How are you?\n\nBob: Fine.\nReally fine.\n\n[10:03] Ann Lee: ok\n\n"
    text += "**Bob:** Bye?\n\n---\n"
    turns = chunk(text)
    assert [(p.speaker, p.text[p.label :], p.is_question) for p in turns] == [
        ("Ann Lee", "Hi! How are you?", True),
        ("Bob", "Fine.\nReally fine.", False),
        ("Ann Lee", "ok", False),
        ("Bob", "Bye?", True),
    ]
    assert {p.heading for p in turns} == {"Talk"}
    assert turns[2].text[: turns[2].label] == "[10:03] Ann Lee: "


@pytest.mark.parametrize(
    "line",
    [
        "{}: text",
        "**{}**: text",
        "**{}:** text",
        "- {}: text",
        "> {}: text",
        "[12:30] {}: text",
        "(D1:3) {}: text",
        "12:30 {}: text",
        "2023-05-08, 12:30 - {}: text",
        "{} (12:30): text",
        "*{}*: text",
        "{}\uff1atext",
    ],
)
def test_speakers_are_seen_however_they_are_written(line: str) -> None:
    text = "\n".join(line.format(name) for name in ("Ann", "Bob") * 3)
    assert [(p.speaker, p.text[p.label :]) for p in chunk(text)] == [("Ann", "text"), ("Bob", "text")] * 3


@pytest.mark.parametrize(
    "text",
    [
        "Note: a\n\nWarning: b\n\nNote: c\n\nWarning: d\n",
        "Alpha: 1\nBeta: 2\nGamma: 3\nDelta: 4\nEpsilon: 5\n",
        "- **Speed:** fast\n- **Size:** small\n- **Price:** low\n- **Colour:** red\n",
        "http://a: x\nhttps://b: y\nhttp://a: x\nhttps://b: y\n",
        "Some text about things.\n\nAnn: once said.\n\nMore text here.\n\nAnd more of it.\n\nBob: too.\n",
        "```\nAnn: a\nBob: b\nAnn: c\nBob: d\n```\n",
    ],
)
def test_a_document_that_merely_has_colons_is_no_dialogue(text: str) -> None:
    assert all(not p.speaker for p in chunk(text))


def test_a_known_conversation_needs_no_proof() -> None:
    assert [p.speaker for p in chunk("Ann: hi\nBob: ho\n", is_conversation=True)] == ["Ann", "Bob"]
    assert [p.speaker for p in chunk("only text", is_conversation=True)] == [""]


def test_code_in_a_turn_names_no_speaker() -> None:
    text = "User: how?\n\nAssistant: so:\n\n```yaml\nUser: x\nkey: y\n```\n\nUser: thanks\n\nAssistant: yes\n"
    assert [p.speaker for p in chunk(text)] == ["User", "Assistant", "User", "Assistant"]


def test_a_long_turn_is_split_between_sentences_and_only_its_first_part_has_the_label() -> None:
    text = "Ann: " + "This is what I say. " * 150 + "\nBob: ok\nAnn: ok\nBob: ok"
    parts = [p for p in chunk(text) if len(p.text) > 10]
    assert len(parts) > 2
    assert [p.label for p in parts] == [5] + [0] * (len(parts) - 1)
    assert {p.speaker for p in parts} == {"Ann"}


def test_json_messages_are_turns() -> None:
    text = json.dumps(
        {"id": 1, "messages": [{"role": "user", "content": "hi?"}, {"role": "assistant", "content": "yo"}]}
    )
    assert [(p.speaker, p.text, p.is_question) for p in chunk(text, is_json=True)] == [
        ("user", "hi?", True),
        ("assistant", "yo", False),
    ]


def test_json_lines_of_messages_are_turns() -> None:
    text = '{"speaker": "Ann", "text": "a"}\n{"speaker": "Bob", "text": "b"}\n'
    assert [p.speaker for p in chunk(text, is_json=True)] == ["Ann", "Bob"]


def test_json_is_cut_between_its_members_under_the_keys_above_them() -> None:
    text = json.dumps({"people": {"ann": {"bio": "a" * 700, "age": 3}, "bob": {"bio": "b" * 800}}, "x": 1})
    found = [(p.heading, p.text[:12]) for p in chunk(text, is_json=True)]
    assert found == [("people", '"ann": {"bio'), ("people", '"bob": {"bio'), ("", '"x": 1')]


@given(
    st.recursive(
        st.one_of(st.none(), st.integers(), st.text(max_size=2000)),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
@requirement("chunks.exact")
def test_json_passages_are_exact_too(value: object) -> None:
    text = json.dumps(value)
    for passage in chunk(text, is_json=True):
        assert text[passage.start : passage.end] == passage.text


@pytest.mark.parametrize("text", ["{", '{"a": 1,}', "[" * 100_000, '"' + '\\"' * 50_000, ""])
def test_broken_json_is_text(text: str) -> None:
    assert "".join(p.text for p in chunk(text, is_json=True)) == text


def _steps(work: Callable[[], object]) -> int:
    """Lines of Python that run, which do not depend on the machine."""
    count = 0

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(None)
    return count


@pytest.mark.parametrize(
    "unit",
    [
        "# h\n",
        "# h\n\ntext\n",
        "word. ",
        "x",
        "Ann: a\nBob: b\n",
        "- item\n",
        "|a|b|\n",
        "```\n",
        "\n",
        "=\n",
        "---\n",
        "[",
        "(a",
        "* ",
    ],
)
def test_twice_the_text_takes_twice_the_steps(unit: str) -> None:
    small, large = unit * 2000, unit * 4000
    steps = _steps(lambda: chunk(small, is_conversation=True))
    assert _steps(lambda: chunk(large, is_conversation=True)) <= 2.2 * steps + 500


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", ["x" * 10_000_000, "a b. " * 2_000_000, "# h\n\nt\n\n" * 100_000, "#\n" * 100_000])
def test_huge_documents_are_taken(text: str) -> None:
    passages = chunk(text)
    assert passages
    assert sum(len(p.text) for p in passages) <= len(text)


def test_a_text_without_anything_has_no_passages() -> None:
    empty: list[Passage] = []
    assert chunk("") == chunk(" \r\n\t") == chunk("---\n***\n") == empty


@given(st.text(max_size=50))
@settings(max_examples=50)
def test_windows_line_ends_change_no_words(text: str) -> None:
    lines = ["# T", text.replace("\r", "").replace("\n", " "), "", "- a", "- b"]
    unix, windows = (chunk(end.join(lines), is_conversation=False) for end in ("\n", "\r\n"))
    assert [p.text.split() for p in unix] == [p.text.split() for p in windows]


def test_headings_in_an_answer_are_part_of_it_and_headings_between_sessions_are_not() -> None:
    text = "# One\n\nUser: how?\n\nAssistant: so\n\n## Step\n\ndo it\n\n# Two\n\nUser: thanks\n\nAssistant: yes\n"
    assert [(p.heading, p.speaker, p.text[p.label :]) for p in chunk(text)] == [
        ("One", "User", "how?"),
        ("One", "Assistant", "so\n\n## Step\n\ndo it"),
        ("Two", "User", "thanks"),
        ("Two", "Assistant", "yes"),
    ]
