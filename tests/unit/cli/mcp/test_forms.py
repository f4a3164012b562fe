"""A form is asked field by field, and nothing leaves it that its schema does not allow."""

from collections.abc import Sequence
from typing import Any

import pytest

from limen.cli.mcp.forms import Cancelled, check_field, describe_field, fill_form

pytestmark = pytest.mark.anyio

TITLED = {"type": "string", "oneOf": [{"const": "n", "title": "North"}, {"const": "s", "title": "South"}]}
MANY = {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}}


class Typist:
    """Types prepared lines, then closes their end."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = list(lines)
        self.heard: list[str] = []

    async def ask(self, question: str) -> str | None:
        self.heard.append(question)
        return self.lines.pop(0) if self.lines else None

    def say(self, line: str) -> None:
        self.heard.append(line)


def a_form(required: Sequence[str] = (), **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(required)}


async def test_defaults_and_optional_fields_need_only_enter() -> None:
    typist = Typist(["", "", "x"])
    form = a_form(["c"], a={"type": "string", "default": "d"}, b={"type": "integer"}, c={"type": "string"})
    assert await fill_form(form, typist.ask, typist.say) == {"a": "d", "c": "x"}


async def test_a_required_field_is_asked_until_it_is_given() -> None:
    typist = Typist(["", "twelve", "12"])
    assert await fill_form(a_form(["n"], n={"type": "integer"}), typist.ask, typist.say) == {"n": 12}
    assert len([line for line in typist.heard if "(integer)" in line]) == 3


async def test_closing_the_input_cancels_the_form() -> None:
    typist = Typist([])
    with pytest.raises(Cancelled):
        await fill_form(a_form(a={"type": "string"}), typist.ask, typist.say)


@pytest.mark.parametrize("schema", [None, {}, {"properties": 5}, []])
async def test_a_form_without_fields_is_empty(schema: object) -> None:
    typist = Typist([])
    assert await fill_form(schema, typist.ask, typist.say) == {}


@pytest.mark.parametrize(
    ("text", "shape", "value"),
    [
        ("yes", {"type": "boolean"}, True),
        ("No", {"type": "boolean"}, False),
        ("2.5", {"type": "number", "maximum": 3}, 2.5),
        ("north", TITLED, "n"),
        ("s", TITLED, "s"),
        ("a, C", MANY, ["a", "c"]),
        ("B", {"type": "string", "enum": ["a", "b"], "enumNames": ["first", "second"]}, "b"),
        ("second", {"type": "string", "enum": ["a", "b"], "enumNames": ["first", "second"]}, "b"),
        ("abc", {"type": "string", "maxLength": 3}, "abc"),
    ],
)
def test_an_answer_becomes_a_value(text: str, shape: dict[str, Any], value: object) -> None:
    assert check_field(text, shape) == value


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("maybe", {"type": "boolean"}),
        ("1.5", {"type": "integer"}),
        ("9", {"type": "integer", "maximum": 8}),
        ("0", {"type": "number", "minimum": 1}),
        ("ab", {"type": "string", "minLength": 3}),
        ("abcd", {"type": "string", "maxLength": 3}),
        ("west", TITLED),
        ("a,x", MANY),
    ],
)
def test_what_a_field_does_not_allow_is_refused(text: str, shape: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        check_field(text, shape)


def test_a_question_cannot_paint_the_terminal() -> None:
    shape = {"title": "\x1b[2J", "description": "\u202e", "default": "\x07"}
    assert "\x1b" not in describe_field("n", shape, is_required=False)
    assert describe_field("n", shape, is_required=False).isascii()
