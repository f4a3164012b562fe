"""Variables in text: filled in, defaulted, escaped; anything else is named and left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.config.variables import expand, hide_literals
from tests.requirements import requirement

ENV = {"HOST": "example.com", "EMPTY": "", "DOLLARS": "${HOST}"}


@requirement("config.variables")
@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("${HOST}", "example.com"),
        ("https://${HOST}:${PORT:-80}/", "https://example.com:80/"),
        ("${HOST:-other}", "example.com"),
        ("${EMPTY:-filled}", "filled"),
        ("${EMPTY}", ""),
        ("${NONE:-}", ""),
        ("${NONE:-a b:c}", "a b:c"),
        ("$${HOST}", "${HOST}"),
        ("$$${HOST}", "$${HOST}"),
        ("$HOST $5 $$", "$HOST $5 $$"),
        ("${DOLLARS}", "${HOST}"),
    ],
)
def test_variables_are_filled_in(written: str, text: str) -> None:
    expansion = expand(written, ENV)
    assert (expansion.text, expansion.is_complete) == (text, True)


@requirement("config.missing-variable")
def test_variables_that_are_not_set_are_named_once_each() -> None:
    expansion = expand("${A}/${B}/${A}/${HOST}", ENV)
    assert expansion.missing == ("A", "B")
    assert not expansion.is_complete


@pytest.mark.parametrize("form", ["${env:TOKEN}", "${}", "${1A}", "${A-b}", "${HOST", "${A:-{}", "${input:key}"])
def test_other_forms_are_not_guessed_at(form: str) -> None:
    expansion = expand(form, ENV)
    assert expansion.malformed
    assert not expansion.is_complete


@given(st.text().filter(lambda text: "$" not in text))
def test_text_without_a_dollar_stays_as_it_is(text: str) -> None:
    assert expand(text, {}).text == text


@given(st.text(alphabet="${}:-ab\n"))
def test_escaped_text_comes_back_as_it_was(text: str) -> None:
    expansion = expand(text.replace("${", "$${"), {})
    assert (expansion.text, expansion.is_complete) == (text, True)


@given(st.text(alphabet="${}:-ABab \n"), st.dictionaries(st.sampled_from(["A", "B", "a"]), st.text()))
def test_expansion_never_fails(text: str, env: dict[str, str]) -> None:
    expansion = expand(text, env)
    assert expansion.is_complete or expansion.missing or expansion.malformed


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("${TOKEN}", "${TOKEN}"),
        ("Bearer ${TOKEN}", "Bearer ${TOKEN}"),
        ("Bearer hunter2", "Bearer *"),
        ("hunter2", "*"),
        ("pre${TOKEN}post", "*${TOKEN}*"),
        ("${TOKEN:-hunter2}", "${TOKEN:-*}"),
        ("${TOKEN:-}", "${TOKEN:-}"),
        ("$${TOKEN}", "*"),
        ("${env:TOKEN}", "*"),
        ("", ""),
    ],
)
def test_only_placeholders_stay_readable(written: str, shown: str) -> None:
    assert hide_literals(written, "*") == shown
