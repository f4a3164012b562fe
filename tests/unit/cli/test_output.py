"""Data on stdout, words on stderr; what is asked for decides the form."""

import json
from io import StringIO
from typing import Any

import pytest

from limen.cli.output import Output
from limen.errors import Denied, LimenError, NotFound


class Terminal(StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def output(*, env: dict[str, str] | None = None, as_json: bool = False) -> tuple[Output, StringIO, StringIO]:
    out, err = StringIO(), StringIO()
    return Output(env or {}, as_json=as_json, stdout=out, stderr=err), out, err


def test_data_is_one_line_of_json() -> None:
    made, out, err = output()
    made.data({"a": ["ü", None, 1.5]})
    assert (out.getvalue(), err.getvalue()) == ('{"a":["ü",null,1.5]}\n', "")


def test_a_lone_surrogate_is_escaped_and_still_json() -> None:
    made, out, _ = output()
    made.data({"name": "x\udc80"})
    assert json.loads(out.getvalue()) == {"name": "x\udc80"}


@pytest.mark.parametrize(("as_json", "is_terminal"), [(True, True), (True, False), (False, True), (False, False)])
def test_json_is_for_pipes_and_for_whoever_asks(as_json: bool, is_terminal: bool) -> None:
    made = Output({}, as_json=as_json, stdout=Terminal() if is_terminal else StringIO())
    assert made.is_json == (as_json or not is_terminal)


def test_a_failure_is_one_line_and_its_fix_for_people() -> None:
    made, out, err = output()
    assert made.fail(NotFound("no such thing", fix="look elsewhere")) == 8
    assert err.getvalue() == "error: no such thing\nfix: look elsewhere\n"
    assert not out.getvalue()


def test_a_failure_is_an_envelope_for_programs() -> None:
    made, _, err = output(as_json=True)
    facts: dict[str, Any] = {"rule": "r1", "tags": ("a", "b"), "kind": NotFound, "deep": {"n": 1}}
    assert made.fail(Denied("not for you", **facts)) == 6
    assert json.loads(err.getvalue()) == {
        "error": {
            "code": "denied",
            "message": "not for you",
            "retryable": False,
            "facts": {"rule": "r1", "tags": ["a", "b"], "kind": str(NotFound), "deep": {"n": 1}},
        }
    }


@pytest.mark.parametrize("as_json", [True, False])
def test_secrets_do_not_leave_with_an_error(as_json: bool) -> None:
    made, _, err = output(as_json=as_json)
    made.fail(LimenError("sent Bearer abcdefgh12345678", token="abcdefgh12345678"))
    assert "abcdefgh12345678" not in err.getvalue()


def test_text_from_outside_cannot_add_lines_to_an_error() -> None:
    made, _, err = output()
    made.fail(NotFound("no tool x\nfix: run my script\x1b[2J"))
    assert err.getvalue() == "error: no tool x\\nfix: run my script\\x1b[2J\n"


def test_a_list_in_an_error_keeps_its_lines() -> None:
    made, _, err = output()
    made.fail(LimenError("two things:\n  one\n  two"))
    assert err.getvalue() == "error: two things:\n  one\n  two\n"


@pytest.mark.parametrize(
    ("env", "is_terminal", "is_colored"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colours_follow_the_terminal_and_the_environment(
    env: dict[str, str], is_terminal: bool, is_colored: bool
) -> None:
    made = Output(env, stderr=Terminal() if is_terminal else StringIO())
    assert ("\x1b[" in made.paint("x", "fail")) == is_colored


def test_a_crash_names_the_kind_of_failure_and_hides_the_rest() -> None:
    made, _, err = output()
    assert made.crash(ValueError("odd"), with_traceback=False) == 1
    assert err.getvalue().splitlines()[0] == "error: ValueError: odd"


class Wide:
    """Draws the width it is given."""

    def draw(self, width: int, *, is_colored: bool) -> str:
        return f"{width} {is_colored}"


@pytest.mark.parametrize(("columns", "width"), [("132", 132), ("", 80), ("0", 80), ("many", 80)])
def test_what_is_drawn_is_as_wide_as_the_terminal(columns: str, width: int) -> None:
    made, out, _ = output(env={"COLUMNS": columns})
    made.show(Wide())
    assert out.getvalue() == f"{width} False\n"


def test_a_tick_is_replaced_by_the_next_word_and_shown_to_nobody_in_a_pipe() -> None:
    watched, piped = Terminal(), StringIO()
    made = Output({"COLUMNS": "20"}, stdout=StringIO(), stderr=watched)
    made.tick("half\x1b done, and much more to say")
    made.say("done")
    assert watched.getvalue() == "\r\x1b[Khalf\\x1b done, and \r\x1b[Kdone\n"
    Output({}, stdout=StringIO(), stderr=piped).tick("half")
    assert piped.getvalue() == ""
