"""Many files, one list."""

from limen.config.foreign.merging import merge
from limen.config.foreign.records import Found, Reading


def reading(file: str, **commands: str) -> Reading:
    return Reading(file, "cursor", tuple(Found(name, {"command": command}) for name, command in commands.items()))


def standings(readings: list[Reading], taken: set[str]) -> list[tuple[str, str]]:
    return [(choice.name, choice.standing) for choice in merge(readings, taken)]


def test_different_servers_of_one_name_are_numbered() -> None:
    files = [reading("a", git="one"), reading("b", git="two"), reading("c", git="three")]
    assert standings(files, set()) == [("git", "new"), ("git-2", "new"), ("git-3", "new")]


def test_the_same_server_is_taken_once() -> None:
    files = [reading("a", git="one"), reading("b", git="two"), reading("c", git="two"), reading("d", git="one")]
    assert standings(files, set()) == [("git", "new"), ("git-2", "new"), ("git-2", "same"), ("git", "same")]


def test_a_name_that_is_taken_is_left_alone() -> None:
    assert standings([reading("a", git="one", web="two")], {"git"}) == [("git", "exists"), ("web", "new")]


def test_importing_again_adds_nothing() -> None:
    files = [reading("a", git="one"), reading("b", git="two")]
    names = {name for name, _ in standings(files, set())}
    assert [standing for _, standing in standings(files, names)] == ["exists", "exists"]


def test_a_long_name_stays_short_enough_when_it_is_numbered() -> None:
    long = "x" * 48
    files = [Reading("a", "", (Found(long, {"command": "a"}),)), Reading("b", "", (Found(long, {"command": "b"}),))]
    assert [len(name) for name, _ in standings(files, set())] == [48, 46]
