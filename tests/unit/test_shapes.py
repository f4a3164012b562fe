"""The shapes of parsed JSON."""

import pytest

from limen.shapes import is_array, is_object, items_of, object_of


@pytest.mark.parametrize(("value", "shape"), [({}, "object"), ({"a": 1}, "object"), ([], "array"), ((1,), "array")])
def test_objects_and_arrays_are_told_apart(value: object, shape: str) -> None:
    assert (is_object(value), is_array(value)) == (shape == "object", shape == "array")


@pytest.mark.parametrize("value", ["text", b"bytes", 1, 1.5, None, True, {1, 2}])
def test_nothing_else_is_taken_for_either(value: object) -> None:
    assert not is_object(value)
    assert not is_array(value)


def test_what_is_neither_counts_as_empty() -> None:
    assert (object_of({"a": 1}), object_of([1])) == ({"a": 1}, {})
    assert (items_of([1]), items_of({"a": 1}), items_of("text")) == ([1], (), ())
