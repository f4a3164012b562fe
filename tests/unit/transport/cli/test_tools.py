"""Commands as tools: names, schemas, and how arguments become the words of a command line."""

import re
import shlex
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.errors import InvalidArguments
from limen.transport.cli.argv import argv_of
from limen.transport.cli.flags import Flag
from limen.transport.cli.helptext import Help, read_help
from limen.transport.cli.tools import Command, Tool, make_tools
from limen.transport.cli.usage import Positional
from tests.requirements import requirement
from tests.unit.transport.cli import samples

NASTY = ["; rm -rf /", "a\nb", "$(id)", "`id`", "'", '"', "*", "~", "|", "&&", "ü", "", "a=b", "\\"]

WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)


def tool_of(found: Help, *path: str) -> Tool:
    (tool,) = make_tools("/usr/bin/prog", [Command(path, help=found)])
    return tool


def words(tool: Tool, **arguments: object) -> list[str]:
    return argv_of(tool, arguments)


def tool_with(*flags: Flag, positionals: tuple[Positional, ...] = (), knows_dashes: bool = True) -> Tool:
    return tool_of(Help(flags=flags, positionals=positionals, knows_dashes=knows_dashes))


def test_a_tool_is_named_after_the_program_and_the_way_to_its_command() -> None:
    paths = [(), ("set-url",), ("set_url",), ("apps:create", "now")]
    tools = make_tools("/opt/my-git.exe", [Command(path) for path in paths])
    assert [tool.name for tool in tools] == [
        "my_git",
        "my_git_set_url",
        "my_git_set_url_2",
        "my_git_apps_create_now",
    ]


@given(st.lists(st.lists(st.text(min_size=1, max_size=80), max_size=4).map(tuple), max_size=8))
def test_names_are_unique_and_fit_for_the_wire(paths: list[tuple[str, ...]]) -> None:
    names = [tool.name for tool in make_tools("prog", [Command(path) for path in paths])]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_]{1,128}", name) for name in names)


def test_the_schema_has_types_choices_defaults_and_what_is_required() -> None:
    tool = tool_of(read_help(samples.CLICK))
    schema = tool.definition["inputSchema"]
    assert schema["required"] == ["beds"]
    assert schema["properties"]["beds"] == {
        "type": "integer",
        "default": 4,
        "description": "How many beds.  [default: 4; required]",
    }
    assert schema["properties"]["soil"]["enum"] == ["clay", "sand", "loam"]
    assert schema["properties"]["plant"]["type"] == "array"
    assert schema["properties"]["shade"]["type"] == "boolean"


@pytest.mark.parametrize("text", samples.EVERY.values(), ids=samples.EVERY.keys())
def test_every_schema_is_a_schema_and_names_fit(text: str) -> None:
    schema: dict[str, Any] = tool_of(read_help(text)).definition["inputSchema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert all(re.fullmatch(r"[A-Za-z0-9_]{1,64}", name) for name in schema["properties"])
    jsonschema.validate({"args": ["a"]}, {**schema, "required": []})
    jsonschema.validate({"args": "a -b"}, {**schema, "required": []})


def test_an_option_called_args_leaves_room_for_further_words() -> None:
    tool = tool_with(Flag(("--args",)))
    assert words(tool, args_2=True, args=["x"]) == ["--args", "x"]


def test_a_positional_word_named_like_an_option_gets_another_name() -> None:
    tool = tool_with(Flag(("--name",), "string", takes_value=True), positionals=(Positional("name"),))
    assert words(tool, name="a", name_2="b") == ["--name", "a", "b"]


def test_true_is_the_flag_and_false_its_opposite_where_there_is_one() -> None:
    tool = tool_with(Flag(("--plain",)), Flag(("--salt",), negation="--no-salt"))
    assert words(tool, plain=True, salt=True) == ["--plain", "--salt"]
    assert words(tool, plain=False, salt=False) == ["--no-salt"]
    assert words(tool, plain="true", salt="False") == ["--plain", "--no-salt"]


def test_a_flag_that_is_on_by_default_is_turned_off_by_its_value() -> None:
    cobra, kubectl = tool_of(read_help(samples.COBRA)), tool_of(read_help(samples.KUBECTL, ("get",)))
    assert words(cobra, warm=False) == ["--warm=false"]
    assert words(kubectl, type="ships", tidy=False, all_harbours=False) == [
        "--tidy=false",
        "--all-harbours=false",
        "ships",
    ]


def test_nothing_is_left_out_and_a_list_is_repeated() -> None:
    tool = tool_of(read_help(samples.COBRA))
    assert words(tool, cellar=None, guests=["ann", None, "ben"], most=2, weight=1.5) == [
        *("--guests", "ann", "--guests", "ben", "--most", "2", "--weight", "1.5"),
    ]


def test_a_value_that_looks_like_an_option_is_joined_to_its_name() -> None:
    tool = tool_with(Flag(("--oven",), "string", takes_value=True), Flag(("-o",), "string", takes_value=True))
    assert words(tool, oven="--evil", o="-x") == ["--oven=--evil", "-o", "-x"]


def test_an_optional_value_is_joined_or_left_out() -> None:
    tool = tool_of(read_help(samples.GNU))
    assert words(tool, colour="never", args=["a", "b"]) == ["--colour=never", "a", "b"]
    assert words(tool, colour="", args=["a", "b"]) == ["--colour", "a", "b"]
    assert words(tool, colour=True, args=["a", "b"]) == ["--colour", "a", "b"]


def test_an_option_the_help_does_not_mention_is_passed_on() -> None:
    tool = tool_with()
    assert words(tool, max_time=5, x=True) == ["--max-time=5", "-x"]
    assert argv_of(tool, {"dry-run": True}) == ["--dry-run"]


def test_another_name_of_an_option_stays_as_it_was_given() -> None:
    tool = tool_of(read_help(samples.COBRA))
    assert words(tool, n=2) == ["-n", "2"]


@pytest.mark.parametrize("key", ["", "-x", "a b", "a=b", "--x", "a\n"])
def test_what_cannot_name_an_option_is_refused(key: str) -> None:
    with pytest.raises(InvalidArguments):
        argv_of(tool_with(), {key: True})


def test_positional_words_come_in_their_order_and_then_the_rest() -> None:
    tool = tool_of(read_help(samples.ARGPARSE_LEAF, ("bake",)), "bake")
    assert words(tool, args=["last"], water=["w1", "w2"], flour="rye", to="shelf") == [
        *("bake", "--to", "shelf", "rye", "w1", "w2", "last")
    ]


def test_words_that_look_like_options_stand_behind_the_dashes() -> None:
    assert words(tool_with(), args=["-rf", "x"]) == ["--", "-rf", "x"]
    assert words(tool_with(), args=["-", "x"]) == ["-", "x"]


def test_dashes_of_the_caller_serve_as_well() -> None:
    assert words(tool_with(), args=["pod", "--", "ls", "-l"]) == ["pod", "--", "ls", "-l"]


def test_words_that_look_like_options_are_refused_where_dashes_are_not_known() -> None:
    tool = tool_with(knows_dashes=False)
    with pytest.raises(InvalidArguments):
        words(tool, args=["-rf"])
    assert words(tool, args="-rf 'a b'") == ["-rf", "a b"]


def test_a_string_of_words_is_split_as_of_old() -> None:
    assert words(tool_with(), args="-n 5 'two words'") == ["-n", "5", "two words"]
    assert words(tool_with(), args="it's fine") == ["it's", "fine"]


def test_what_is_required_must_be_there() -> None:
    tool = tool_of(read_help(samples.CLAP))
    with pytest.raises(InvalidArguments) as missing:
        words(tool)
    assert missing.value.facts["field"] == "field"
    with pytest.raises(InvalidArguments):
        words(tool, field="meadow")
    assert words(tool, field="meadow", args="rex") == ["--field", "meadow", "rex"]


@pytest.mark.parametrize("value", ["a\0b", "x" * 200_000, {"a": 1}, [["x"]], "\ud800"])
def test_what_cannot_be_a_word_is_refused(value: object) -> None:
    with pytest.raises(InvalidArguments):
        words(tool_with(), key=value)
    with pytest.raises(InvalidArguments):
        words(tool_with(), args=[value])


@requirement("program.no-shell")
@given(st.lists(WORDS), WORDS, st.sampled_from(NASTY))
def test_every_value_stays_one_literal_word(args: list[str], value: str, nasty: str) -> None:
    tool = tool_with(Flag(("--key",), "string", takes_value=True))
    found = argv_of(tool, {"key": value, "args": [*args, nasty]})
    assert found[:2] == ["--key", value] or found[0] == f"--key={value}"
    assert found[-1] == nasty
    assert found[-len(args) - 1 : -1] == args or not args


@given(st.lists(WORDS.filter(bool)))
def test_a_quoted_string_of_words_gives_those_words(args: list[str]) -> None:
    assert words(tool_with(), args=shlex.join(args)) == args
