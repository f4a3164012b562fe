"""Text from outside cannot move the cursor, turn the writing direction, or hide."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.cli.printable import printable


@pytest.mark.parametrize("text", ["", "plain text", "Größe 10 €", "日本語", "naïve café", "🙂"])
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x9b31m", r"\x9b31m"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x00\x07\x7f", r"\x00\x07\x7f"),
        ("abc\u202edcba", r"abc\u202edcba"),
        ("\u2066x\u2069", r"\u2066x\u2069"),
        ("zero\u200bwidth\u200d\ufeff", r"zero\u200bwidth\u200d\ufeff"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("smuggled\ufe01\U000e0150", r"smuggled\ufe01\U000e0150"),
        ("filler\u3164", r"filler\u3164"),
        ("line\u2028end", r"line\u2028end"),
        ("lone\udc80", r"lone\udc80"),
        ("soft\xadhyphen", r"soft\xadhyphen"),
    ],
)
def test_what_is_unseen_becomes_visible(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_nothing_but_seen_characters_remains(text: str) -> None:
    shown = printable(text)
    assert not any(unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} for char in shown)
    assert printable(shown) == shown
