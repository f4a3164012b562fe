"""Decisions are numbered once each, say how they stand, and can be found from their index."""

import re
from collections import Counter
from pathlib import Path

from tests.environment import ROOT

FOLDER = ROOT / "docs" / "decisions"
NAME = re.compile(r"^(\d{4})-[a-z0-9]+(-[a-z0-9]+)*\.md$")
STATUS = re.compile(r"^\W*status\W+(proposed|accepted|replaced by \S.*)", re.IGNORECASE | re.MULTILINE)


def decisions() -> list[Path]:
    """Every decision, without the index."""
    return sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")


def test_there_are_decisions() -> None:
    assert decisions()


def test_decisions_are_numbered_once_each() -> None:
    badly_named = [path.name for path in decisions() if not NAME.match(path.name)]
    assert not badly_named, "a decision is called NNNN-title-in-words.md"
    numbers = Counter(path.name[:4] for path in decisions())
    assert not [number for number, count in numbers.items() if count > 1]


def test_the_index_lists_every_decision_and_nothing_else() -> None:
    index = (FOLDER / "README.md").read_text("utf-8")
    listed = re.findall(r"\]\((?:\./)?(\d{4}[^)#]*\.md)\)", index)
    assert sorted(listed) == [path.name for path in decisions()]


def test_every_decision_says_how_it_stands() -> None:
    unsaid = [path.name for path in decisions() if not STATUS.search(path.read_text("utf-8"))]
    assert not unsaid, "write `Status: proposed`, `accepted` or `replaced by NNNN` near the top"
