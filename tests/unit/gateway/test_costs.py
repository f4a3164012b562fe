"""What definitions cost, estimated."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.gateway.costs import definition_tokens, estimate_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("   ", 0), ("hello", 1), ("internationalisation", 3), ("1234567", 3), ("日本", 2), ('{"a":"b"}', 5)],
)
def test_a_text_is_cut_into_pieces(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_more_text_never_costs_less(first: str, second: str) -> None:
    assert estimate_tokens(f"{first} {second}") == estimate_tokens(first) + estimate_tokens(second)


def test_only_what_a_model_is_shown_counts() -> None:
    bare = {"name": "echo", "description": "Says it again.", "inputSchema": {"type": "object"}}
    full = {**bare, "annotations": {"title": "Echo"}, "outputSchema": {"type": "object"}, "_meta": {"a": 1}}
    assert definition_tokens(json.dumps(full).encode()) == definition_tokens(json.dumps(bare).encode())
