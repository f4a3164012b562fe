"""Hypothesis strategies for JSON values, and a plain reference for how deep they are nested."""

from typing import Any

from hypothesis import strategies as st

from limen.shapes import is_array, is_object

# Lone surrogates cannot be written as UTF-8; they are tested by hand, as escapes.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)
objects: st.SearchStrategy[dict[str, Any]] = st.dictionaries(texts, values, max_size=5)
ids = st.integers(-(2**70), 2**70) | texts


def depth_of(value: Any) -> int:
    """How many arrays and objects stand inside each other."""
    if is_object(value):
        return 1 + max((depth_of(item) for item in value.values()), default=0)
    if is_array(value):
        return 1 + max((depth_of(item) for item in value), default=0)
    return 0
