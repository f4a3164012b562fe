"""Variables as others write them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.config.foreign.placeholders import Style, Translation
from limen.config.variables import expand


@pytest.mark.parametrize(
    ("style", "text", "expected"),
    [
        ("braces", "${TOKEN} and ${TEAM:-core}", "${TOKEN} and ${TEAM:-core}"),
        ("braces", "$TOKEN stays", "$TOKEN stays"),
        ("braces", "${env:TOKEN}", "${TOKEN}"),
        ("braces", "${env:TEAM:-core}", "${TEAM:-core}"),
        ("braces", "${input:api-key}", "${API_KEY}"),
        ("braces", "${userHome}/x", "${HOME}/x"),
        ("braces", "a${/}b", "a/b"),
        ("braces", "${config:editor.tab}", "${CONFIG_EDITOR_TAB}"),
        ("braces", "$${TOKEN}", "$${TOKEN}"),
        ("braces", "costs ${", "costs $${"),
        ("braces", "${workspaceFolder}/x", "/srv/shop/x"),
        ("dollar", "$TOKEN-${TEAM}", "${TOKEN}-${TEAM}"),
        ("dollar", "5$ and $1", "5$ and $1"),
        ("curly", "{env:TOKEN}", "${TOKEN}"),
        ("curly", "{file:~/.secret-token}", "${SECRET_TOKEN}"),
        ("curly", '{"a": 1}', '{"a": 1}'),
    ],
)
def test_each_form_becomes_the_one_that_limen_reads(style: Style, text: str, expected: str) -> None:
    assert Translation(style, Path("/srv/shop")).text(text) == expected


def test_what_only_its_client_can_fill_in_is_told() -> None:
    translation = Translation()
    translation.text("${input:key} ${input:key} ${config:x}")
    assert len(translation.notes) == 2
    assert "KEY" in translation.notes[0]


@given(st.text(alphabet="${}abAB:-_/ .7"), st.sampled_from(["braces", "dollar", "curly"]))
def test_no_text_becomes_one_that_limen_cannot_read(text: str, style: Style) -> None:
    assert not expand(Translation(style).text(text), {}).malformed


@given(st.text(alphabet="${}abAB:-_/ .7"), st.sampled_from(["braces", "dollar", "curly"]))
def test_translating_twice_changes_nothing_more(text: str, style: Style) -> None:
    once = Translation(style).text(text)
    assert Translation("braces").text(once) == once
