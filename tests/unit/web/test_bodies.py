"""The pattern that clients are told and the rules that paths are judged by agree."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from limen.brain.paths import check_path
from limen.errors import InvalidPath
from limen.web.bodies import PATH_PATTERN

SEGMENTS = st.sampled_from(
    ["a", "b.md", ".", "..", "...", "", ".git", ".GIT", ".gitignore", ".limen", "é", "a b", "\\", "\n"]
)


@given(st.lists(SEGMENTS, min_size=1, max_size=4).map("/".join) | st.text(max_size=20))
@example("a/.git")
@example(".git/a")
@example("a\n")
@example("...")
def test_the_pattern_says_what_the_rules_say(path: str) -> None:
    if path and any("\ud800" <= char <= "\udfff" for char in path):
        return
    # ECMA's `$` is the end of the text, and so is this.
    fits = re.search(PATH_PATTERN.removesuffix("$") + r"\Z", path, re.DOTALL) is not None
    if fits:
        assert check_path(path) == path
    else:
        with pytest.raises(InvalidPath):
            check_path(path)
