"""The walk over a program's subcommands, with programs that are only functions."""

import asyncio

import pytest

from limen.errors import RequestTimeout
from limen.transport.cli.discovery import AT_ONCE, MOST_COMMANDS, Ask, HelpText, discover

pytestmark = pytest.mark.anyio

TREE = {
    (): "Usage: p COMMAND\n\nCommands:\n  b  Bees\n  a-x  Ants\n  help  Help\n",
    ("b",): "Usage: p b COMMAND\n\nCommands:\n  c  See\n",
    ("b", "c"): "Usage: p b c COMMAND\n\nCommands:\n  d  Dee\n",
    ("b", "c", "d"): "Usage: p b c d COMMAND\n\nCommands:\n  e  Ee\n",
    ("b", "c", "d", "e"): "Usage: p b c d e [OPTIONS]\n\nOptions:\n  --deep  Yes\n",
    ("a-x",): "Usage: p a-x [OPTIONS] FILE\n\nOptions:\n  --many  More\n",
}


def asking(tree: dict[tuple[str, ...], str], asked: list[tuple[str, ...]] | None = None) -> Ask:
    async def ask(path: tuple[str, ...]) -> HelpText | None:
        if asked is not None:
            asked.append(path)
        return HelpText(tree[path]) if path in tree else None

    return ask


async def paths(tree: dict[tuple[str, ...], str], *, depth: int, only: tuple[str, ...] = ()) -> list[str]:
    return [" ".join(command.path) for command in await discover(asking(tree), depth=depth, only=only)]


@pytest.mark.parametrize(
    ("depth", "found"),
    [
        (1, ["b", "a-x"]),
        (2, ["b c", "a-x"]),
        (3, ["b c d", "a-x"]),
        (4, ["b c d e", "a-x"]),
        (5, ["b c d e", "a-x"]),
        (99, ["b c d e", "a-x"]),
    ],
)
async def test_as_many_levels_are_read_as_asked_for(depth: int, found: list[str]) -> None:
    assert await paths(TREE, depth=depth) == found


async def test_options_are_known_where_the_help_was_read() -> None:
    by_depth = {depth: await discover(asking(TREE), depth=depth) for depth in (4, 5)}
    assert [[flag.name for flag in by_depth[depth][0].help.flags] for depth in (4, 5)] == [[], ["deep"]]
    assert by_depth[5][1].about == "Ants"


@pytest.mark.parametrize(
    ("only", "found"),
    [
        (("a-x",), ["a-x"]),
        (("b",), ["b c d e"]),
        (("b c",), ["b c d e"]),
        (("nothing",), []),
        (("b nothing",), []),
    ],
)
async def test_only_what_was_named_becomes_a_tool(only: tuple[str, ...], found: list[str]) -> None:
    assert await paths(TREE, depth=5, only=only) == found


async def test_a_group_on_the_way_to_what_was_named_does_not_let_in_the_rest() -> None:
    assert await paths(TREE, depth=1, only=("b c",)) == []


async def test_a_command_that_was_named_but_is_not_listed_is_asked_for() -> None:
    tree = {**TREE, ("hidden",): "Usage: p hidden\n\nOptions:\n  --so  So\n"}
    assert await paths(tree, depth=1, only=("hidden", "absent")) == ["hidden"]


async def test_a_program_without_subcommands_is_one_tool() -> None:
    assert await paths({(): "Usage: p [OPTIONS]\n"}, depth=3) == [""]


async def test_a_program_that_says_nothing_is_one_tool() -> None:
    assert await paths({(): ""}, depth=3) == [""]


async def test_a_program_that_ignores_its_subcommand_is_not_followed() -> None:
    root = TREE[()]
    asked: list[tuple[str, ...]] = []
    tree = {(): root, ("b",): root, ("a-x",): root}
    found = await discover(asking(tree, asked), depth=5)
    assert [command.path for command in found] == [("b",), ("a-x",)]
    assert asked == [(), ("b",), ("a-x",)]


async def test_a_program_that_lists_the_same_everywhere_is_not_followed() -> None:
    async def ask(path: tuple[str, ...]) -> HelpText | None:
        return HelpText(f"You are at {'/'.join(path)}.\n\nCommands:\n  on  Go on\n  off  Go off\n")

    assert [command.path for command in await discover(ask, depth=5)] == [("on",), ("off",)]


async def test_a_forest_of_commands_is_cut_and_asked_a_few_at_a_time() -> None:
    at_once, most = 0, 0

    async def ask(path: tuple[str, ...]) -> HelpText | None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        at_once -= 1
        listed = "".join(f"  c{len(path)}n{number}  Do it\n" for number in range(40))
        return HelpText(f"{path}\n\nCommands:\n{listed}")

    first = await discover(ask, depth=3)
    assert len(first) <= MOST_COMMANDS
    assert most == AT_ONCE
    assert [it.path for it in first] == [it.path for it in await discover(ask, depth=3)]


async def test_a_subcommand_without_help_is_a_tool_all_the_same() -> None:
    assert await paths({(): TREE[()]}, depth=2) == ["b", "a-x"]


async def test_a_program_that_cannot_be_asked_is_an_error() -> None:
    async def ask(path: tuple[str, ...]) -> HelpText | None:
        raise RequestTimeout("no help")

    with pytest.raises(RequestTimeout):
        await discover(ask, depth=2)
