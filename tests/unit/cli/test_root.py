"""The tree of commands: listed without being loaded, and the same once they are."""

import inspect
from typing import Any

import pytest

from limen.cli.root import COMMANDS, load_command


def leaves(name: str) -> list[Any]:
    waiting, found = [load_command(name)], list[Any]()
    while waiting:
        command = waiting.pop()
        inner = list(getattr(command, "commands", {}).values())
        waiting += inner
        found += [] if inner else [command]
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_in_the_list_is_the_first_of_the_help(name: str) -> None:
    assert inspect.cleandoc(load_command(name).help).splitlines()[0] == COMMANDS[name].line


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_in_the_list_fits_80_columns(name: str) -> None:
    assert len(COMMANDS[name].line) + 15 <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_an_example_of_itself(name: str) -> None:
    for command in leaves(name):
        assert f"limen {name}" in command.epilog


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_the_common_options(name: str) -> None:
    for command in leaves(name):
        assert {"--config", "--json"} <= {flag for parameter in command.params for flag in parameter.opts}
