"""Paths, slugs, scopes and globs inside a brain."""

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.brain.paths import check_path, is_generated, matches, project_of, scope_of, slug_of, tool_path
from limen.errors import InvalidPath

GOOD = [
    "a",
    "a.md",
    "memory/global/x.md",
    "wiki/ünïcode/日本.md",
    "raw/documents/-x.md",
    "a b/c d.md",
    ".hidden/x",
]
BAD = [
    "",
    "/",
    "/a",
    "a/",
    "a//b",
    ".",
    "..",
    "a/../b",
    "./a",
    "a\\b",
    "a\0b",
    "a\nb",
    "\ud800",
    ".git/config",
    ".GIT/config",
    "a/.git/x",
    ".limen/journal.db",
    "x" * 1025,
    "ü" * 128,
]


@pytest.mark.parametrize("path", GOOD)
def test_a_canonical_path_is_taken_as_it_is(path: str) -> None:
    assert check_path(path) == path


@pytest.mark.parametrize("path", BAD)
def test_a_path_that_is_not_canonical_is_refused_by_name(path: str) -> None:
    with pytest.raises(InvalidPath) as refused:
        check_path(path, field="to")
    assert refused.value.facts["field"] == "to"
    assert str(refused.value).startswith("to: ")


def test_tools_may_write_a_leading_slash() -> None:
    assert tool_path("/memory/global/x.md") == "memory/global/x.md"
    with pytest.raises(InvalidPath):
        tool_path("//x.md")


@given(st.text(max_size=60))
def test_a_path_is_either_refused_or_stays_inside_the_brain(path: str) -> None:
    try:
        taken = check_path(path)
    except InvalidPath:
        return
    assert taken == path
    assert not path.startswith("/")
    assert not {"", ".", ".."} & set(path.split("/"))


@pytest.mark.parametrize(
    ("path", "scope", "project"),
    [
        ("memory/global/x.md", "global", ""),
        ("memory/project/limen/x.md", "project", "limen"),
        ("memory/agent/codex/x.md", "agent", ""),
        ("memory/x.md", "other", ""),
        ("wiki/a/b.md", "wiki", ""),
        ("raw/documents/a.md", "raw", ""),
        ("transcripts/a.md", "transcript", ""),
        ("people/ada.md", "other", ""),
    ],
)
def test_a_path_tells_its_scope_and_project(path: str, scope: str, project: str) -> None:
    assert (scope_of(path), project_of(path)) == (scope, project)


def test_generated_files_begin_with_an_underscore() -> None:
    assert is_generated("wiki/_index.md")
    assert not is_generated("_wiki/index.md")


@pytest.mark.parametrize(
    ("text", "slug"), [("Crème brûlée!", "creme-brulee"), ("  A  B ", "a-b"), ("日本", "note"), ("", "note")]
)
def test_a_slug_is_lower_case_with_hyphens_and_never_empty(text: str, slug: str) -> None:
    assert slug_of(text, fallback="note") == slug


@given(st.text(max_size=200))
def test_every_text_has_a_slug_that_is_its_own_slug(text: str) -> None:
    slug = slug_of(text, fallback="note")
    assert slug_of(slug, fallback="x") == slug
    assert 0 < len(slug) <= 64


@pytest.mark.parametrize(
    ("name", "glob", "expected"),
    [
        ("a.md", "*.md", True),
        ("a.txt", "*.md", False),
        ("ab", "a?", True),
        ("ab", "a[abc]", True),
        ("ab", "a[!b]", False),
        ("ab", "a[^b]", False),
        ("a]", "a[]]", True),
        ("a-", "a[a-]", True),
        ("a5", "a[0-9]", True),
        ("a[", "a[", True),
        ("a.md", "", False),
        ("a\\", "a\\", True),
    ],
)
def test_a_glob_knows_stars_marks_and_classes(name: str, glob: str, expected: bool) -> None:
    assert matches(name, glob) is expected


@given(st.text(alphabet="ab*?.", max_size=8), st.text(alphabet="ab.", max_size=8))
def test_a_glob_never_matches_more_than_the_shell_would(glob: str, name: str) -> None:
    assert matches(name, glob) is fnmatch.fnmatchcase(name, glob)
