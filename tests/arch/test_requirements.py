"""Every duty is proven by a test that names it, and every duty a test names exists."""

import ast
from collections import defaultdict
from pathlib import Path

from tests.environment import ROOT
from tests.requirements import REQUIREMENTS, UNPROVEN

TESTS = ROOT / "tests"


def named(path: Path) -> set[str]:
    """The duties that one file's tests claim to prove."""
    return {
        str(argument.value)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "requirement"
        for argument in node.args
        if isinstance(argument, ast.Constant)
    }


def proofs() -> dict[str, set[str]]:
    """Duty -> the files with tests that name it."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(TESTS.rglob("test_*.py")):
        for duty in named(path):
            found[duty].add(path.relative_to(TESTS).as_posix())
    return found


def test_tests_name_only_duties_that_exist() -> None:
    unknown = {duty: sorted(files) for duty, files in proofs().items() if duty not in REQUIREMENTS}
    assert not unknown, "add these to tests/requirements.py, or mend the name"


def test_every_duty_is_proven_by_a_test_that_names_it() -> None:
    unproven = REQUIREMENTS.keys() - proofs().keys() - UNPROVEN
    assert not unproven, f"no test carries @requirement(...) for: {', '.join(sorted(unproven))}"


def test_nothing_proven_is_still_excused() -> None:
    assert not UNPROVEN & proofs().keys(), "take these out of UNPROVEN: a test proves them now"
    assert REQUIREMENTS.keys() >= UNPROVEN
