"""One entry in, one entry out: everything else stays as it was written, or nothing is changed at all."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.config.editing.edits import find_entry, put_entries, remove_entry
from limen.config.syntax import Syntax, read_plain
from limen.errors import ConfigInvalid
from tests.requirements import requirement
from tests.unit.config.foreign.samples import CLIENTS, Sample

LIMEN: dict[str, Any] = {"command": "limen", "args": ["stdio"], "env": {"A_B": "${C}"}, "enabled": True}


def put(text: str, syntax: Syntax = "json", section: tuple[str, ...] = ("mcpServers",)) -> str:
    return put_entries(text, syntax, section, {"limen": LIMEN}, "file")


def take(text: str, syntax: Syntax = "json", section: tuple[str, ...] = ("mcpServers",)) -> str:
    return remove_entry(text, syntax, section, "limen", "file")


@requirement("client.edit-safe")
@pytest.mark.parametrize("sample", CLIENTS, ids=lambda sample: sample.format)
def test_in_and_out_again_leaves_every_clients_file_as_it_was(sample: Sample) -> None:
    text = take(sample.text, sample.syntax, sample.section)
    installed = put(text, sample.syntax, sample.section)
    assert find_entry(installed, sample.syntax, sample.section, "limen", "file") == LIMEN
    assert take(installed, sample.syntax, sample.section) == text


@requirement("client.edit-safe")
@pytest.mark.parametrize("sample", CLIENTS, ids=lambda sample: sample.format)
def test_every_line_that_was_there_is_still_there(sample: Sample) -> None:
    text = take(sample.text, sample.syntax, sample.section)
    installed = put(text, sample.syntax, sample.section)
    lines = iter(installed.splitlines())
    kept = [line for line in text.splitlines() if "\n" in text.rstrip("\n")]
    # The last entry before ours gets a comma, and one-line objects take ours in.
    assert all(any(_bare(line) in _bare(other) for other in lines) for line in kept)


def _bare(line: str) -> str:
    return line.rstrip(",}")


@requirement("client.edit-safe")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "mcpServers": {\n    "limen": {}\n  }\n}\n'),
        ("{}", '{\n  "mcpServers": {\n    "limen": {}\n  }\n}'),
        ("// mine\n", '// mine\n{\n  "mcpServers": {\n    "limen": {}\n  }\n}\n'),
        ('{"mcpServers": null}', '{"mcpServers": {\n  "limen": {}\n}}'),
        ('{"a": 1}', '{"a": 1, "mcpServers": {"limen": {}}}'),
        ('{"mcpServers": {"a": {}}}', '{"mcpServers": {"a": {}, "limen": {}}}'),
        ('{\n\t"a": 1 // one\n}', '{\n\t"a": 1, // one\n\t"mcpServers": {\n\t\t"limen": {}\n\t}\n}'),
        ('{\r\n  "a": 1\r\n}\r\n', '{\r\n  "a": 1,\r\n  "mcpServers": {\r\n    "limen": {}\r\n  }\r\n}\r\n'),
        ('{\n  "a": 1,\n}', '{\n  "a": 1,\n  "mcpServers": {\n    "limen": {}\n  },\n}'),
        ('\ufeff{"a": "}"}', '\ufeff{"a": "}", "mcpServers": {"limen": {}}}'),
    ],
)
def test_json_keeps_its_layout(before: str, after: str) -> None:
    assert put_entries(before, "json", ("mcpServers",), {"limen": {}}, "file") == after


@requirement("client.edit-safe")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"mcpServers": {"limen": {}}}', '{"mcpServers": {}}'),
        ('{"mcpServers": {"limen": {}, "a": 1}}', '{"mcpServers": { "a": 1}}'),
        ('{"mcpServers": {"a": 1, /* b */ "limen": {}}}', '{"mcpServers": {"a": 1 /* b */}}'),
        (
            '{"mcpServers": {\n  "a": 1, // one\n  "limen": {}, // two\n}}',
            '{"mcpServers": {\n  "a": 1, // one // two\n}}',
        ),
    ],
)
def test_json_keeps_the_comments_around_what_goes(before: str, after: str) -> None:
    assert take(before) == after


@requirement("client.edit-safe")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "servers:\n  limen:\n    command: x\n"),
        ("# mine", "# mine\nservers:\n  limen:\n    command: x\n"),
        ("tier: read", "tier: read\nservers:\n  limen:\n    command: x\n"),
        ("servers:\n", "servers:\n  limen:\n    command: x\n"),
        ("servers: {}  # none\n", "servers:  # none\n  limen:\n    command: x\n"),
        ("servers: {a: {command: y}}\n", "servers: {a: {command: y}, limen: {command: x}}\n"),
        (
            "servers:\n    a:\n        command: y # why\n\n# end\n",
            "servers:\n    a:\n        command: y # why\n    limen:\n      command: x\n\n# end\n",
        ),
        (
            "servers:\n  a:\n    x: |\n      t\ntier: read\n",
            "servers:\n  a:\n    x: |\n      t\n  limen:\n    command: x\ntier: read\n",
        ),
        ("---\ntier: read\n...\n", "---\ntier: read\nservers:\n  limen:\n    command: x\n...\n"),
        ("tier: read\r\n", "tier: read\r\nservers:\r\n  limen:\r\n    command: x\r\n"),
        ("{tier: read}\n", "{tier: read, servers: {limen: {command: x}}}\n"),
    ],
)
def test_yaml_keeps_its_layout(before: str, after: str) -> None:
    assert put_entries(before, "yaml", ("servers",), {"limen": {"command": "x"}}, "file") == after


@requirement("client.edit-safe")
def test_yaml_of_which_the_only_entry_goes_stays_a_mapping() -> None:
    text = "servers:  # mine\n  limen:\n    command: x\n  # end\n"
    assert take(text, "yaml", ("servers",)) == "servers: {}  # mine\n  # end\n"


@requirement("client.edit-safe")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[m.limen]\ncommand = "x"\n'),
        ("a = 1", 'a = 1\n\n[m.limen]\ncommand = "x"\n'),
        ("[m.a]\nb = 1\n\n[c]\nd = 2\n", '[m.a]\nb = 1\n\n[c]\nd = 2\n\n[m.limen]\ncommand = "x"\n'),
    ],
)
def test_toml_gets_a_table_at_its_end(before: str, after: str) -> None:
    assert put_entries(before, "toml", ("m",), {"limen": {"command": "x"}}, "file") == after


@requirement("client.edit-safe")
def test_toml_keeps_the_comments_of_the_next_table() -> None:
    text = '[m.limen]\ncommand = "x"\n[m.limen.env]\nA = "b"\n\n# next\n[z]\nq = 1\n'
    assert take(text, "toml", ("m",)) == "# next\n[z]\nq = 1\n"


@requirement("client.edit-safe")
@pytest.mark.parametrize(
    ("syntax", "text", "expected"),
    [
        ("json", '{"m": {"limen": {"command": "old"}, "b": 1}}', '{"m": {"limen": {\n  "command": "x"\n}, "b": 1}}'),
        ("yaml", "m:\n  limen: {command: old}\n  b: 1\n", "m:\n  b: 1\n  limen:\n    command: x\n"),
        ("toml", '[m.limen]\ncommand = "old"\n\n[z]\nq = 1\n', '[z]\nq = 1\n\n[m.limen]\ncommand = "x"\n'),
    ],
)
def test_an_entry_of_the_same_name_is_replaced(syntax: Syntax, text: str, expected: str) -> None:
    assert put_entries(text, syntax, ("m",), {"limen": {"command": "x"}}, "file") == expected


@requirement("client.edit-safe")
@pytest.mark.parametrize(
    ("syntax", "text"),
    [
        ("json", '{"mcpServers": []}'),
        ("json", "[1]"),
        ("json", '{"mcpServers": {}, "mcpServers": {}}'),
        ("json", '{"a": }'),
        ("yaml", "mcpServers: [a]\n"),
        ("yaml", "- a\n"),
        ("yaml", "base: &b {a: {x: 1}}\nmcpServers: *b\n"),
        ("yaml", "a: [\n"),
        ("toml", "mcpServers = {a = 1}\n"),
        ("toml", "mcpServers = 1\n"),
        ("toml", "a = \n"),
    ],
)
def test_what_cannot_be_changed_safely_is_not_changed(syntax: Syntax, text: str) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        put(text, syntax)
    assert str(refused.value).startswith("file")
    assert refused.value.facts["fix"]


@requirement("client.edit-safe")
def test_taking_out_what_is_not_there_changes_nothing() -> None:
    assert take('{"mcpServers": {}}') == '{"mcpServers": {}}'
    assert take("", "yaml", ("servers",)) == ""
    assert take("a = 1\n", "toml", ("m",)) == "a = 1\n"


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    TEXTS | st.booleans() | st.integers(-(10**9), 10**9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ENTRIES = st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4)


@requirement("client.edit-safe")
@given(ENTRIES)
def test_whatever_is_written_as_yaml_is_read_as_the_same(entry: dict[str, Any]) -> None:
    text = put_entries("# mine\nservers:\n  a: {command: x}\n", "yaml", ("servers",), {"b": entry}, "file")
    assert read_plain(text, "yaml") == {"servers": {"a": {"command": "x"}, "b": entry}}
    assert remove_entry(text, "yaml", ("servers",), "b", "file") == "# mine\nservers:\n  a: {command: x}\n"


@requirement("client.edit-safe")
@given(ENTRIES)
def test_whatever_is_written_as_toml_is_read_as_the_same(entry: dict[str, Any]) -> None:
    text = put_entries("# mine\na = 1\n", "toml", ("m",), {"b": entry}, "file")
    assert read_plain(text, "toml") == {"a": 1, "m": {"b": entry}}


@requirement("client.edit-safe")
@given(ENTRIES, st.integers(0, 4), st.sampled_from([None, 2, 4, "\t"]))
def test_whatever_stands_in_json_in_and_out_again_changes_no_byte(entry: dict[str, Any], at: int, indent: Any) -> None:
    members = [(f"key{number}", entry) for number in range(4)]
    text = json.dumps({"mcpServers": dict(members), "after": [entry]}, indent=indent, ensure_ascii=at % 2 == 0)
    assert take(put(text)) == text
    removed = remove_entry(text, "json", ("mcpServers",), f"key{at}", "file")
    assert read_plain(removed, "json") == {
        "mcpServers": {key: value for key, value in members if key != f"key{at}"},
        "after": [entry],
    }
