"""Every failure becomes a problem with a promised status, both codes, and no more facts than may be shown."""

import msgspec
import pytest

from limen.errors import FACES, Conflict, Denied, NoBrain, StoreUnavailable
from limen.web.problems import WIRE_CODES, problem_of, problem_of_code


@pytest.mark.parametrize("code", sorted(FACES))
def test_every_code_has_a_status_that_was_promised(code: str) -> None:
    problem = problem_of_code(code, "detail")
    assert problem.code == WIRE_CODES[problem.status]
    assert (problem.limen_code, problem.type) == (code, f"urn:limen:problem:{code}")
    assert problem.title


def test_a_problem_says_what_the_error_says() -> None:
    problem = problem_of(NoBrain("there is no brain 'x'", name="x"))
    assert msgspec.to_builtins(problem) == {
        "type": "urn:limen:problem:no_brain",
        "title": "Not Found",
        "status": 404,
        "detail": "there is no brain 'x'",
        "code": "not_found",
        "limen_code": "no_brain",
    }


def test_only_known_facts_are_shown() -> None:
    problem = problem_of(StoreUnavailable("no", path="/home/somebody", reason="inner", field="path"))
    assert (problem.field, problem.retryable, problem.status, problem.code) == ("path", True, 503, "unavailable")
    assert b"somebody" not in msgspec.json.encode(problem)


def test_secrets_stay_out_of_the_detail() -> None:
    problem = problem_of(Denied("Bearer abcdefghijklmnop was refused", rule="r"))
    assert (problem.detail, problem.rule) == ("Bearer [redacted] was refused", "r")


def test_a_failed_precondition_is_a_conflict_under_its_own_status() -> None:
    problem = problem_of(Conflict("it changed", checksum_sha256="ab"), 412)
    assert (problem.status, problem.code, problem.checksum_sha256) == (412, "conflict", "ab")


def test_a_code_nobody_knows_is_an_internal_error() -> None:
    assert problem_of_code("made_up", "x").status == 500
