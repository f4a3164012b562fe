"""The shapes of parsed JSON."""

import pytest

from limen.shapes import is_array, is_object


@pytest.mark.parametrize(("value", "shape"), [({}, "object"), ({"a": 1}, "object"), ([], "array"), ((1,), "array")])
def test_objects_and_arrays_are_told_apart(value: object, shape: str) -> None:
    assert (is_object(value), is_array(value)) == (shape == "object", shape == "array")


@pytest.mark.parametrize("value", ["text", b"bytes", 1, 1.5, None, True, {1, 2}])
def test_nothing_else_is_taken_for_either(value: object) -> None:
    assert not is_object(value)
    assert not is_array(value)
