"""Settings from text: every problem is found at once, each with its place and its fix, and nothing else is lost."""

import pytest

from limen.config.model import Settings
from limen.config.parse import Parsed, parse, parse_nothing
from limen.config.problems import Problem
from tests.requirements import requirement

MISTAKES = """\
server:
  prot: 12
  port: 70000
  host: [a]
  keepalive_s: soon
  protocol_versions: [2025-11-25, 2024-11-05]
  allowed_origins: ["*"]
port: 3
tier: root
toolsets: hub
log: loud
limits:
  depth:
  depth: 9
zebra: 4
allowed_file_roots: [relative]
audit: {arguments: "${NOWHERE}"}
"""


def read(text: str, **env: str) -> Parsed:
    return parse(text, "limen.yaml", env)


def only(parsed: Parsed) -> Problem:
    (problem,) = parsed.problems
    return problem


@requirement("config.all-problems")
def test_every_problem_is_reported_with_its_line_and_path() -> None:
    found = [(problem.line, problem.column, problem.path) for problem in read(MISTAKES).problems]
    assert found == [
        (2, 3, "server.prot"),
        (3, 9, "server.port"),
        (4, 9, "server.host"),
        (5, 16, "server.keepalive_s"),
        (6, 35, "server.protocol_versions[1]"),
        (7, 21, "server.allowed_origins[0]"),
        (8, 1, "port"),
        (9, 7, "tier"),
        (10, 11, "toolsets"),
        (11, 6, "log"),
        (13, 9, "limits.depth"),
        (14, 3, "limits.depth"),
        (15, 1, "zebra"),
        (16, 22, "allowed_file_roots[0]"),
        (17, 20, "audit.arguments"),
    ]


@requirement("config.all-problems")
def test_every_problem_says_how_to_mend_it() -> None:
    problems = read(MISTAKES).problems
    assert all(problem.fix and problem.is_fatal and problem.file == "limen.yaml" for problem in problems)
    assert str(problems[1]) == (
        "limen.yaml:3:9: error: `server.port` cannot be `70000`; write a whole number from 0 to 65535"
    )


def test_what_is_wrong_is_left_at_its_default_and_what_is_right_is_kept() -> None:
    settings = read("server: {port: x, host: 0.0.0.0}\ntier: admin").settings
    assert (settings.server.port, settings.server.host, settings.tier) == (8765, "0.0.0.0", "admin")


@requirement("config.unknown-key")
@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("sever: {}", "did you mean `server`?"),
        ("server: {max_conections: 5}", "did you mean `max_connections`?"),
        ("limits: {Depth: 5}", "did you mean `depth`?"),
        ("servers: {a: {command: x, max-concurrency: 5}}", "did you mean `max_concurrency`?"),
        ("servers: {a: {command: x, tools: [{nam: b, name: c}]}}", "did you mean `name`?"),
        ("level: debug", "move it under `log:`"),
        ("log: {zzz: 1}", "remove it; what can stand here: level"),
    ],
)
def test_an_unknown_key_is_an_error_with_a_suggestion(text: str, fix: str) -> None:
    problem = only(read(text))
    assert (problem.severity, problem.fix) == ("error", fix)


@pytest.mark.parametrize(
    ("text", "seconds"), [("15", 15), ("0.5", 0.5), ("90s", 90), ("250ms", 0.25), ("5m", 300), ('"1.5h"', 5400)]
)
def test_durations_are_read_with_and_without_a_unit(text: str, seconds: float) -> None:
    parsed = read(f"server: {{keepalive_s: {text}}}")
    assert (parsed.problems, parsed.settings.server.keepalive_s) == ((), seconds)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "1e400", "90 seconds", "''", "[]", "true", "500d"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    assert only(read(f"server: {{keepalive_s: {text}}}")).path == "server.keepalive_s"


@pytest.mark.parametrize("text", ["-1", "65536", "1.5", "0x10", "1e3", "''", "null", "yes", "9" * 40])
def test_what_is_no_port_is_refused(text: str) -> None:
    assert only(read(f"server: {{port: {text}}}")).path == "server.port"


def test_choices_are_read_whatever_their_case() -> None:
    assert read("log: {level: WARNING}\ntier: Admin").problems == ()


def test_no_revision_at_all_is_refused() -> None:
    assert only(read("server: {protocol_versions: []}")).path == "server.protocol_versions"


def test_one_revision_can_be_served_alone() -> None:
    assert read("server: {protocol_versions: [2025-11-25]}").settings.server.protocol_versions == ("2025-11-25",)


def test_a_home_folder_is_written_with_a_tilde() -> None:
    parsed = read("allowed_file_roots: [~/code, /srv, '~']", HOME="/home/you")
    assert parsed.settings.allowed_file_roots == ("/home/you/code", "/srv", "/home/you")


@requirement("config.variables")
@pytest.mark.parametrize("written", ["${PORT}", "'${PORT}'", '"${PORT:-1}"', "${NONE:-9000}", "90${ZERO}0"])
def test_a_variable_becomes_a_value_of_the_settings_own_type(written: str) -> None:
    parsed = read(f"server:\n  port: {written}\n", PORT="9000", ZERO="0")
    assert (parsed.problems, parsed.settings.server.port) == ((), 9000)


@requirement("config.variables")
def test_variables_are_expanded_in_lists_and_mappings_but_not_in_keys() -> None:
    parsed = read(
        "toolsets: ['${SET}']\nservers: {a: {command: x, args: ['${SET}'], env: {'K${SET}': '${SET}'}}}", SET="hub"
    )
    entry = parsed.settings.servers["a"]
    assert (parsed.settings.toolsets, entry.args, entry.env) == (("hub",), ("hub",), {"K${SET}": "hub"})


@requirement("config.missing-variable")
def test_a_missing_variable_outside_servers_is_fatal_and_named() -> None:
    problem = only(read("server:\n  host: ${WHERE}\n"))
    assert problem.is_fatal
    assert problem.line == 2
    assert "WHERE" in problem.message
    assert "${WHERE:-default}" in problem.fix


def test_a_variable_as_another_program_writes_it_is_translated() -> None:
    assert only(read("server: {host: '${env:WHERE}'}", WHERE="x")).fix == "write `${WHERE}`"


def test_a_value_that_came_from_a_variable_is_never_repeated() -> None:
    problem = only(read("server: {port: '${SECRET}'}", SECRET="hunter2"))
    assert "hunter2" not in str(problem)
    assert "${SECRET}" in problem.message


def test_the_environment_stands_above_the_file() -> None:
    parsed = read(
        "server: {port: 1, host: a}\nlog: {level: debug}", LIMEN_PORT="2", LIMEN_HOST="b", LIMEN_LOG_LEVEL="ERROR"
    )
    settings = parsed.settings
    assert (settings.server.port, settings.server.host, settings.log.level) == (2, "b", "error")
    assert str(parsed.origins["server.port"]) == "$LIMEN_PORT"


def test_an_empty_variable_overrides_nothing() -> None:
    assert read("server: {port: 1}", LIMEN_PORT="").settings.server.port == 1


@requirement("config.defaults")
def test_without_a_file_there_are_the_defaults_and_the_environment() -> None:
    assert parse_nothing({}) == Parsed()
    assert parse_nothing({"HOME": "/x"}).settings == Settings()
    assert parse_nothing({"LIMEN_PORT": "3"}).settings.server.port == 3


def test_a_bad_variable_is_an_error_that_names_it() -> None:
    problem = only(parse_nothing({"LIMEN_PORT": "many"}))
    assert (problem.is_fatal, problem.where, problem.path) == (True, "$LIMEN_PORT", "server.port")


def test_the_place_of_each_value_is_known() -> None:
    origins = read("tier: admin\nserver:\n  port: 1\n  host: [x]\n").origins
    assert {path: str(origin) for path, origin in origins.items()} == {
        "tier": "limen.yaml:1",
        "server.port": "limen.yaml:3",
    }
