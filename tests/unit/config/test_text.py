"""Reading text: YAML and JSON become the same settings, limits hold, and no text makes the reader fail."""

import json
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from limen.config.describe import describe
from limen.config.model import Settings
from limen.config.parse import Parsed, parse
from tests.requirements import requirement

PASTED = """{
\t"mcpServers": {
\t\t"files": {
\t\t\t"command": "npx",
\t\t\t"args": ["-y", "server-files", "/srv/\\ud83d\\ude00", "a\\/b"],
\t\t\t"env": {"LEVEL": "debug"}
\t\t}
\t}
}
"""

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
WORDS = sorted({part for setting in describe() for part in setting.path.replace("[]", "").split(".")} | {"mcpServers"})
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet="ab1:/${}~ ") | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=30,
)
# Mostly right, so that whole entries get through, with now and then something that is not.
ENTRIES = st.fixed_dictionaries(
    {},
    optional={
        "command": st.sampled_from(["npx", "${PROGRAM}", "", "a b"]),
        "url": st.sampled_from(["https://example.com/mcp", "${ADDRESS}", "x"]),
        "args": st.lists(st.sampled_from(["a", 1, True, "${WORD:-}"]), max_size=3),
        "env": st.dictionaries(st.sampled_from(["A", "B", "C=D"]), st.sampled_from(["x", 1, "${KEY}"]), max_size=2),
        "enabled": st.sampled_from([True, False, "${ON:-no}"]),
        "cli": st.booleans(),
        "tags": st.lists(st.sampled_from(["mcp", "mcp.git", "."]), max_size=2),
        "tools": st.lists(st.fixed_dictionaries({"name": st.sampled_from(["a", "b", ""])}), max_size=2),
        "timeout": st.sampled_from([5, "2m", "0", "${TIME}"]),
        "idle_timeout": st.sampled_from(["adaptive", "never", "90s", "x"]),
        "type": st.sampled_from(["stdio", "sse"]),
    },
)
TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


def read(text: str) -> Parsed:
    return parse(text, "limen.yaml", {})


def messages(text: str) -> list[tuple[int | None, str]]:
    return [(problem.line, problem.message) for problem in read(text).problems]


@requirement("config.json-paste")
def test_a_pasted_json_block_with_tabs_is_read_as_it_is() -> None:
    parsed = read(PASTED)
    assert parsed.problems == ()
    assert parsed.settings.servers["files"].args == ("-y", "server-files", "/srv/\N{GRINNING FACE}", "a/b")


@requirement("config.json-paste")
def test_comments_and_trailing_commas_in_json_are_allowed() -> None:
    parsed = read('{ // mine\n "tier": "write", /* more\n below */ "toolsets": ["hub",],\n}')
    assert (parsed.problems, parsed.settings.tier) == ((), "write")


def test_problems_in_json_carry_line_and_column() -> None:
    (problem,) = read('{\n\t"server": {\n\t\t"port": "x"\n\t}\n}').problems
    assert (problem.where, problem.path) == ("limen.yaml:3:11", "server.port")


def test_braces_may_also_begin_yamls_own_short_form() -> None:
    assert read("{tier: admin, server: {port: 1}}").settings.tier == "admin"


@pytest.mark.parametrize(
    "text",
    [
        '{"tier": "read"',
        '{"tier" "read"}',
        '{"tier": }',
        '{"tier": "read" "server": {}}',
        '{"tier": "read"} x',
        '{"a": tru}',
        '{"a": "\\q"}',
        '{"a": "\\ud800"}',
        '{"a": [1 2]}',
        '{"a',
    ],
)
def test_broken_json_is_one_error_with_its_place(text: str) -> None:
    (problem,) = read(text).problems
    assert problem.is_fatal
    assert problem.line == 1
    assert problem.fix


@pytest.mark.parametrize(
    "text",
    [
        "a: [1",
        "a: b: c",
        "\ta: 1",
        "a: 'x",
        "%YAML 9.0\n---\na: 1",
        "a: 1\n---\nb: 2",
        "a: \x07",
        "? [a]\n: b",
        "- a\nb",
    ],
)
def test_broken_yaml_is_one_error_with_its_place(text: str) -> None:
    (problem,) = read(text).problems
    assert problem.is_fatal
    assert problem.line
    assert problem.fix


def test_tabs_that_indent_yaml_are_named_as_the_cause() -> None:
    (problem,) = read("server:\n\tport: 1\n").problems
    assert (problem.line, problem.fix) == (2, "indent with spaces, not tabs")


@pytest.mark.parametrize(
    "text", ["", "   \n", "# nothing yet\n", "---\n", "null", "{}", "server:\nlimits:\n", "\ufeff"]
)
def test_a_file_that_says_nothing_leaves_the_defaults(text: str) -> None:
    parsed = read(text)
    assert (parsed.problems, parsed.settings) == ((), Settings())


@pytest.mark.parametrize("text", ["[1, 2]", "just text", "- a"])
def test_a_file_that_is_no_mapping_is_an_error(text: str) -> None:
    assert messages(text) == [(1, "the file must be a mapping of settings")]


@pytest.mark.parametrize(
    "text", ["tier: read\nserver:\n  port: 1\n  port: 2\n", '{"tier": "read",\n"server": {\n"port": 1,\n"port": 2}}']
)
def test_a_key_given_twice_is_an_error_that_names_both_lines(text: str) -> None:
    assert messages(text) == [(4, "`port` is already given on line 3")]


def test_anchors_and_merges_work() -> None:
    parsed = read(
        "servers:\n"
        "  a: &a {command: one, tags: [x], timeout: 5}\n"
        "  b: {<<: *a, command: two}\n"
        "  c:\n    <<: [{timeout: 7}, *a]\n    args: &words [p, q]\n"
        "  d: {command: three, args: *words}\n"
    )
    servers = parsed.settings.servers
    assert parsed.problems == ()
    assert [(entry.command, entry.timeout_s) for entry in servers.values()] == [
        ("one", 5),
        ("two", 5),
        ("one", 7),
        ("three", 120),
    ]
    assert servers["d"].args == ("p", "q")


@pytest.mark.parametrize("text", ["a: *nobody", "a: &a [*a]", "a: &a {b: *a}", "a: {<<: 3}", "a: {<<: [[]]}"])
def test_an_alias_or_merge_of_nothing_is_an_error(text: str) -> None:
    (problem,) = read(text).problems
    assert problem.is_fatal


@pytest.mark.parametrize("text", ["tier: !secret x", "a: !!python/object:os.system {}", "servers: !x {}", "a: !y [1]"])
def test_tags_of_ones_own_are_refused(text: str) -> None:
    (problem,) = read(text).problems
    assert problem.fix == "remove the tag"


def test_the_tags_of_yaml_itself_are_understood() -> None:
    parsed = read('server: !!map {port: !!int "7"}\nservers: {a: {command: !!str null, args: [! 5]}}')
    assert parsed.problems == ()
    assert (parsed.settings.server.port, parsed.settings.servers["a"].command) == (7, "null")


@pytest.mark.parametrize("opening", ["[", '{"a":', "{a: ", "- "])
def test_deep_nesting_is_refused_before_it_is_built(opening: str) -> None:
    (problem,) = read(opening * 50_000).problems
    assert problem.message == "nested more than 32 levels deep"


def test_aliases_that_multiply_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 9)]
    (problem,) = read("\n".join(lines)).problems
    assert "aliases counted" in problem.message


def test_a_file_of_many_megabytes_is_refused() -> None:
    (problem,) = read("#" * (1 << 21)).problems
    assert problem.message == "longer than 1 MiB"


def test_a_file_of_nothing_but_mistakes_is_reported_whole() -> None:
    assert len(read("\n".join(f"key{number}: 1" for number in range(2_000))).problems) == 2_000


@settings(deadline=None)
@given(st.text())
def test_no_text_makes_the_reader_fail(text: str) -> None:
    assert isinstance(read(text).settings, Settings)


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="{}[]:,-&*!<>|#'\"\n\t a0$\\/?%@~"))
def test_no_string_of_signs_makes_the_reader_fail(text: str) -> None:
    assert isinstance(read(text).settings, Settings)


@settings(deadline=None)
@given(JSON_VALUES, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_no_json_makes_the_reader_fail(value: Any, indent: int | str | None, is_ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii)
    assert isinstance(read(text).settings, Settings)


@settings(deadline=None, max_examples=200)
@given(TREES)
def test_no_misuse_of_known_keys_makes_the_reader_fail(value: Any) -> None:
    for text in (json.dumps(value, indent=1), yaml.safe_dump(value)):
        parsed = read(text)
        assert keeps_its_bounds(parsed.settings)
        assert all(1 <= (problem.line or 0) <= text.count("\n") + 1 for problem in parsed.problems)
        assert not parsed.settings.servers.keys() & parsed.disabled.keys()


@settings(deadline=None, max_examples=200)
@given(st.dictionaries(st.sampled_from(["a", "b", "c d"]), ENTRIES, max_size=3), st.sampled_from([{}, {"KEY": "k"}]))
def test_a_server_is_either_usable_or_disabled_for_a_reason(entries: dict[str, Any], env: dict[str, str]) -> None:
    parsed = parse(json.dumps({"servers": entries}), "limen.yaml", env)
    assert keeps_its_bounds(parsed.settings)
    assert {*parsed.settings.servers, *parsed.disabled} == entries.keys()
    assert not parsed.settings.servers.keys() & parsed.disabled.keys()
    errors = {problem.server for problem in parsed.problems if problem.severity == "error"}
    assert errors <= parsed.disabled.keys()


@requirement("config.json-paste")
@settings(deadline=None)
@given(st.lists(TEXTS, max_size=5), st.dictionaries(st.from_regex(r"[A-Z_]{1,8}", fullmatch=True), TEXTS, max_size=4))
def test_texts_arrive_as_they_were_written_in_json_and_in_yaml(args: list[str], env: dict[str, str]) -> None:
    def escaped(text: str) -> str:
        return text.replace("${", "$${")

    entry = {
        "command": "x",
        "args": [escaped(word) for word in args],
        "env": {name: escaped(text) for name, text in env.items()},
    }
    whole = {"mcpServers": {"a": entry}}
    for text in (json.dumps(whole), json.dumps(whole, ensure_ascii=False, indent="\t"), yaml.safe_dump(whole)):
        server = read(text).settings.servers["a"]
        assert (server.args, server.env) == (tuple(args), env)


def keeps_its_bounds(found: Settings) -> bool:
    """Whether the settings keep every bound that the model states, checked by msgspec instead of by us."""
    return msgspec.json.decode(msgspec.json.encode(found), type=Settings) == found
