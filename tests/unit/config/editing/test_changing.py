"""Fields of one entry are changed where they stand, and nothing else is."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.config.editing.edits import change_entry
from limen.config.syntax import Syntax, read_plain
from limen.errors import ConfigInvalid

YAML = """\
# top
servers:
  # about a
  a:
    command: x   # the program
    args: ["a", "b"]  # its words
    # end of a
  b: {url: "http://x/mcp"}  # b
  c:
    # first
    command: y
tier: read
"""
JSON = """\
{
  // mine
  "servers": {
    "a": {"command": "x", "args": ["a"]}, // a
    "b": {"url": "http://x/mcp"}
  }
}
"""


def changed(name: str, text: str = YAML, syntax: Syntax = "yaml", **changes: Any) -> str:
    return change_entry(text, syntax, ["servers"], name, changes, "limen.yaml")


@pytest.mark.parametrize(
    ("name", "changes", "before", "after"),
    [
        ("a", {"command": "z"}, "command: x ", "command: z "),
        ("a", {"args": None}, '    args: ["a", "b"]  # its words\n', ""),
        ("a", {"args": ["c"]}, '["a", "b"]', "[c]"),
        ("a", {"enabled": False}, "# its words\n", "# its words\n    enabled: false\n"),
        ("b", {"enabled": False}, '"http://x/mcp"}', '"http://x/mcp", enabled: false}'),
        ("b", {"url": "http://y"}, '"http://x/mcp"', '"http://y"'),
        ("c", {"env": {"K": "${K}"}}, "command: y\n", 'command: y\n    env: {K: "${K}"}\n'),
    ],
)
def test_a_field_of_yaml_is_changed_in_place(name: str, changes: dict[str, Any], before: str, after: str) -> None:
    assert changed(name, **changes) == YAML.replace(before, after, 1)


def test_a_field_of_json_is_changed_in_place() -> None:
    new = changed("a", JSON, "json", args=None, enabled=False)
    assert new == JSON.replace('"args": ["a"]', '"enabled": false')


def test_line_breaks_stay_of_their_kind() -> None:
    new = changed("a", YAML.replace("\n", "\r\n"), enabled=False)
    assert new.count("\n") == new.count("\r\n")


@pytest.mark.parametrize("name", ["nobody", "tier"])
def test_an_entry_that_is_not_there_cannot_be_changed(name: str) -> None:
    with pytest.raises(ConfigInvalid):
        changed(name, enabled=False)


fields = st.dictionaries(
    st.sampled_from(["command", "args", "env", "enabled", "timeout", "tags"]),
    st.none() | st.booleans() | st.text(max_size=8) | st.lists(st.text(max_size=4), max_size=2),
    min_size=1,
)


@given(st.sampled_from(["a", "b", "c"]), fields)
def test_the_text_says_what_was_wanted_and_nothing_else(name: str, changes: dict[str, Any]) -> None:
    before: Any = read_plain(YAML, "yaml")
    wanted = {key: value for key, value in {**before["servers"][name], **changes}.items() if value is not None}
    try:
        new = changed(name, **changes)
    except ConfigInvalid:
        return
    assert read_plain(new, "yaml") == {**before, "servers": {**before["servers"], name: wanted}}
    assert "# top" in new
