"""Help texts of every usual style, and of none: what is written is found, and nothing makes the reader stumble."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.transport.cli.flags import Flag
from limen.transport.cli.helptext import Help, read_help
from limen.transport.cli.usage import Positional
from tests.requirements import requirement
from tests.unit.transport.cli import samples


def commands(found: Help) -> dict[str, str]:
    return {command.name: command.description for command in found.subcommands}


def flag(found: Help, name: str) -> Flag:
    return next(flag for flag in found.flags if name in flag.names)


def test_cobra() -> None:
    found = read_help(samples.COBRA)
    assert found.summary == "Keep a cellar of bottles."
    assert commands(found) == {"drink": "Open a bottle", "shelf": "Look after shelves"}
    assert {flag.name: flag.kind for flag in found.flags} == {
        "cellar": "string",
        "guests": "string",
        "most": "integer",
        "warm": "boolean",
        "weight": "number",
    }
    assert flag(found, "--guests").repeats
    assert flag(found, "--most").names == ("--most", "-n")
    assert (flag(found, "--cellar").default, flag(found, "--warm").default) == ("/srv/cellar", "true")
    assert found.knows_dashes
    assert not found.runs_alone


def test_a_command_with_subcommands_may_also_run_alone() -> None:
    assert read_help(samples.COBRA_THAT_RUNS).runs_alone


def test_kubectl() -> None:
    found = read_help(samples.KUBECTL, ("get",))
    assert found.summary == "Show one or many ships."
    assert {flag.name: (flag.kind, flag.default) for flag in found.flags} == {
        "all-harbours": ("boolean", "false"),
        "at-once": ("integer", "500"),
        "filename": ("string", None),
        "harbour": ("string", None),
        "tidy": ("boolean", "true"),
    }
    assert flag(found, "--filename").repeats
    assert flag(found, "-A").description == "Look into every harbour, whatever --harbour says."
    assert found.positionals == (Positional("type"),)


def test_gh() -> None:
    found = read_help(samples.GH)
    assert commands(found) == {"auth": "Show who you are", "parcel": "Send and receive parcels"}
    assert [flag.name for flag in found.flags] == ["state"]
    assert flag(found, "--state").choices == ("open", "closed", "all")


def test_clap() -> None:
    found = read_help(samples.CLAP)
    assert commands(found) == {"count": "Count them", "shear": "Cut their wool"}
    assert [flag.name for flag in found.flags] == ["field", "verbose", "colour", "breed"]
    assert flag(found, "--field").is_required
    assert flag(found, "--verbose").kind == "boolean"
    assert flag(found, "--colour").choices == ("auto", "always", "never")
    assert flag(found, "--colour").default == "auto"
    assert flag(found, "--breed").is_value_optional
    assert found.positionals == (Positional("dog", repeats=True, description="Who helps"),)


def test_clap_at_length() -> None:
    assert flag(read_help(samples.CLAP_LONG, ("shear",)), "--how").choices == ("gently", "fast")


def test_click() -> None:
    found = read_help(samples.CLICK)
    assert found.summary == "Plan a garden."
    assert commands(found) == {"plant": "Put something into", "water": "Pour."}
    assert [flag.name for flag in found.flags] == ["beds", "soil", "shade", "plant", "depth"]
    beds = flag(found, "--beds")
    assert (beds.kind, beds.default, beds.is_required) == ("integer", "4", True)
    assert flag(found, "--soil").choices == ("clay", "sand", "loam")
    assert flag(found, "--shade").negation == "--no-shade"
    assert flag(found, "-p").repeats


def test_typer_with_frames() -> None:
    found = read_help(samples.TYPER)
    assert commands(found) == {"plant": "Put something in.", "water": "Pour."}
    assert [(flag.names, flag.kind, flag.is_required) for flag in found.flags] == [
        (("--name", "-n"), "string", True),
        (("--beds",), "integer", False),
        (("--soil",), "string", False),
        (("--shade",), "boolean", False),
    ]
    assert flag(found, "--soil").choices == ("clay", "sand")


def test_argparse() -> None:
    found = read_help(samples.ARGPARSE)
    assert found.summary == "Bread, day after day."
    assert commands(found) == {"knead": "work the dough", "bake": "into the oven"}
    assert [flag.name for flag in found.flags] == ["oven", "heat", "loaves", "salt"]
    assert flag(found, "--oven").is_required
    assert not flag(found, "--heat").is_required
    assert flag(found, "--heat").choices == ("low", "high")
    assert flag(found, "-l").names == ("--loaves", "-l")
    assert flag(found, "--salt").negation == "--no-salt"


def test_argparse_positionals() -> None:
    assert read_help(samples.ARGPARSE_LEAF, ("bake",)).positionals == (
        Positional("flour", description="what is baked"),
        Positional("water", is_required=False, repeats=True, description="what it is mixed with"),
    )


def test_gnu() -> None:
    found = read_help(samples.GNU)
    assert found.summary == "Put things on top of each other."
    assert [flag.name for flag in found.flags] == ["all", "block-size", "c", "colour", "width", "lines", "no-preserve"]
    colour = flag(found, "--colour")
    assert (colour.takes_value, colour.is_value_optional, colour.joins_by_equals) == (True, True, True)
    assert flag(found, "-n").kind == "integer"
    assert found.positionals == (Positional("source", repeats=True), Positional("dest"))


@requirement("program.tools-from-help")
def test_git() -> None:
    found = read_help(samples.GIT)
    assert commands(found) == {"clone": "Copy a tree", "init": "Plant a tree", "pull": "Take from another tree"}
    assert [flag.names for flag in found.flags] == [
        ("-C",),
        ("-c",),
        ("--paginate", "-p"),
        ("--no-pager", "-P"),
        ("--bare",),
    ]


def test_go() -> None:
    found = read_help(samples.GO)
    assert [(flag.name, flag.kind, flag.default) for flag in found.flags] == [
        ("addr", "string", ":8080"),
        ("n", "integer", "3"),
        ("v", "boolean", None),
        ("wait", "string", None),
    ]
    assert found.knows_dashes


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (samples.OPENSSL, ["asn1", "ca", "ciphers", "cms", "crl2pkcs7", "x509", "blake2", "md5", "sha1"]),
        (samples.NPM, ["access", "adduser", "audit", "bugs", "cache", "ci", "config", "whoami"]),
        (samples.APT, ["list", "full-upgrade"]),
        (samples.SYSTEMD, ["list-lamps", "set-light"]),
    ],
    ids=["a table", "commas", "dashes", "with their arguments"],
)
def test_other_ways_to_list_commands(text: str, names: list[str]) -> None:
    assert [*commands(read_help(text))] == names


def test_the_version_of_a_program_is_not_what_it_is_for() -> None:
    assert read_help(samples.APT).summary == "larder keeps what is eaten."


def test_short_and_long_name_without_a_comma() -> None:
    found = read_help(samples.SYSTEMD)
    assert [flag.names for flag in found.flags] == [("--host", "-H"), ("--type", "-t")]
    assert flag(found, "-H").hint == "[USER@]HOST"


def test_options_that_only_the_usage_shows() -> None:
    found = read_help(samples.SSH)
    assert [(flag.name, flag.kind) for flag in found.flags] == [
        ("4", "boolean"),
        ("6", "boolean"),
        ("A", "boolean"),
        ("a", "boolean"),
        ("b", "string"),
        ("D", "string"),
        ("l", "string"),
    ]
    assert found.positionals == (Positional("destination"),)
    assert not found.knows_dashes


def test_a_manual_with_overstrikes() -> None:
    found = read_help(samples.MAN, ("log",))
    assert found.summary == "Show what grew"
    assert found.usage == ("twig log [<options>] [<range>] [[--] <path>...]",)
    assert [flag.names for flag in found.flags] == [
        ("--follow",),
        ("--max-count", "-n"),
        ("--decorate",),
        ("--mailmap",),
    ]
    assert flag(found, "--max-count").kind == "integer"
    assert flag(found, "--decorate").negation == "--no-decorate"
    assert flag(found, "--mailmap").negation == "--no-mailmap"


def test_another_language_costs_commands_but_not_options() -> None:
    found = read_help(samples.GERMAN)
    assert [flag.name for flag in found.flags] == ["alle", "breite"]


def test_colours_change_nothing() -> None:
    coloured = samples.CLAP.replace("--field", "\x1b[1;32m--field\x1b[0m").replace(
        "Commands:", "\x1b[4mCommands:\x1b[m"
    )
    assert read_help(coloured) == read_help(samples.CLAP)


@pytest.mark.parametrize("text", ["", "\n\n", "\0", "usage:", "Usage: x\n  or:\n", "Commands:\n", "-", "--", "  -"])
def test_next_to_nothing_is_no_help(text: str) -> None:
    assert read_help(text).flags == ()


@given(st.text(max_size=2000))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(read_help(text, ("a", "b")), Help)


@given(
    st.lists(
        st.one_of(
            st.sampled_from([line for text in samples.EVERY.values() for line in text.split("\n")]),
            st.text("[]<>{}()-=:,|… \t\x1b\x08│╭─╮.aAzZ09", max_size=60),
        ),
        max_size=60,
    )
)
def test_any_mixture_of_help_is_read_and_names_are_names(lines: list[str]) -> None:
    found = read_help("\n".join(lines))
    for name in (name for flag in found.flags for name in flag.names):
        assert name.startswith("-")
        assert not set(name) & set(" \t=,|[]<>")
    assert all(command.name and " " not in command.name for command in found.subcommands)


@pytest.mark.parametrize(
    "text",
    [
        "+" + "-" * 400_000,
        "Usage: p " + "[" * 200_000,
        "Commands:\n" + "  x" + " [a" * 100_000,
        "  --x" + " <a>" * 100_000,
        "  --x  " + "[;" * 100_000,
        "Usage:\n" + "  p [x]\n" * 50_000,
        "_\b" * 200_000,
        "\x1b[" * 200_000,
        "Commands:\n" + "  a  b\n" * 60_000,
    ],
    ids=lambda text: text[:12],
)
def test_a_text_that_is_made_to_take_long_does_not(text: str) -> None:
    assert isinstance(read_help(text), Help)
