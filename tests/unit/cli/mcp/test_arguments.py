"""Words on a command line become the arguments of a tool."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.cli.mcp.arguments import parse_object, parse_words
from limen.errors import InvalidArguments

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "deep": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "loose": {"anyOf": [{"type": "integer"}, {}]},
        "both": {"type": ["string", "integer"]},
        "thing": {"type": "object"},
    },
}

keys = st.text(min_size=1).filter(lambda key: "=" not in key and key[-1] != ":" and not key.lstrip().startswith("{"))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
json_values = scalars | st.lists(scalars, max_size=3) | st.dictionaries(st.text(), scalars, max_size=3)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["text=5"], {"text": "5"}),
        (["text=a=b"], {"text": "a=b"}),
        (["text="], {"text": ""}),
        (["count=5", "share=0.5", "deep=false"], {"count": 5, "share": 0.5, "deep": False}),
        (["share=3"], {"share": 3}),
        (["tags=a"], {"tags": ["a"]}),
        (["tags=a", "tags=b"], {"tags": ["a", "b"]}),
        (['tags=["a"]', "tags=b"], {"tags": ["a", "b"]}),
        (["numbers=1", "numbers=2"], {"numbers": [1, 2]}),
        (["either=null"], {"either": None}),
        (["loose=7"], {"loose": "7"}),
        (["both=7"], {"both": "7"}),
        (['thing={"a":1}'], {"thing": {"a": 1}}),
        (["unknown=7"], {"unknown": "7"}),
        (["unknown:=7"], {"unknown": 7}),
        (['text:={"a":[1]}'], {"text": {"a": [1]}}),
        (['{"text": "x"}'], {"text": "x"}),
        ([], {}),
    ],
)
def test_words_become_what_the_schema_says(words: list[str], expected: dict[str, Any]) -> None:
    assert parse_words(words, SCHEMA) == expected


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (["count=many"], "count"),
        (["count=1.5"], "count"),
        (["count=true"], "count"),
        (["deep=1"], "deep"),
        (["numbers=x"], "numbers"),
        (["text=a", "text=b"], "text"),
        (["count:=x"], "count"),
        (["bare"], None),
        (["=x"], None),
        (["{broken"], "arguments"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(words: list[str], field: str | None) -> None:
    with pytest.raises(InvalidArguments) as refused:
        parse_words(words, SCHEMA)
    assert refused.value.facts.get("field") == field


@pytest.mark.parametrize("text", ["[1]", "5", '"x"', "{", "[" * 100_000])
def test_only_an_object_is_taken_from_stdin(text: str) -> None:
    with pytest.raises(InvalidArguments):
        parse_object(text, "stdin")


@given(st.dictionaries(keys, json_values, max_size=4))
def test_every_object_can_be_written_as_pairs(arguments: dict[str, Any]) -> None:
    assert parse_words([f"{key}:={json.dumps(value)}" for key, value in arguments.items()], None) == arguments


@pytest.mark.parametrize(
    "schema", [None, 5, [], {"properties": 5}, {"properties": {"a": 5}}, {"properties": {"a": {"type": 5}}}]
)
def test_a_broken_schema_leaves_values_as_text(schema: object) -> None:
    assert parse_words(["a=5"], schema) == {"a": "5"}
