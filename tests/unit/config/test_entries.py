"""Server entries: shape, rules between fields, and what is wrong with one leaves the others alone."""

import pytest

from limen.config.model import ServerEntry, ToolEntry
from limen.config.parse import Parsed, parse
from tests.requirements import requirement

EVERYTHING = """
servers:
  local:
    command: uvx
    args: [mcp-server-git, --port, 8080, --flag, true, ""]
    env: {LEVEL: 3, DEBUG: no, TOKEN: "${TOKEN}"}
    cwd: ~/code
    enabled: false
    tags: [mcp.git, work]
    tools:
      - {name: git_log, alias: log}
      - {name: git_diff, tags: [mcp.git.read], enabled: false}
    expose: bare
    timeout: 2m
    idle_timeout: 90s
    min_idle_timeout: 30s
    max_idle_timeout: 10m
    max_concurrency: 4
    protocol: 2025-11-25
  remote:
    url: https://example.com/mcp
    headers: {Authorization: "Bearer ${TOKEN}"}
    transport: sse
    idle_timeout: never
  program:
    command: kubectl
    cli: true
    cli_help: help
    cli_depth: 3
    cli_only: [get, describe]
"""


def read(text: str, **env: str) -> Parsed:
    return parse(text, "limen.yaml", env)


def entry(fields: str, **env: str) -> Parsed:
    return read(f"servers:\n  good: {{command: x}}\n  it: {{{fields}}}\n", **env)


def test_every_field_of_an_entry_is_read() -> None:
    parsed = read(EVERYTHING, TOKEN="t", HOME="/home/you")
    assert (parsed.problems, parsed.disabled) == ((), {})
    assert parsed.settings.servers == {
        "local": ServerEntry(
            command="uvx",
            args=("mcp-server-git", "--port", "8080", "--flag", "true", ""),
            env={"LEVEL": "3", "DEBUG": "no", "TOKEN": "t"},
            cwd="/home/you/code",
            enabled=False,
            tags=("mcp.git", "work"),
            tools=(
                ToolEntry(name="git_log", alias="log"),
                ToolEntry(name="git_diff", tags=("mcp.git.read",), enabled=False),
            ),
            expose="bare",
            timeout_s=120,
            idle_timeout=90.0,
            min_idle_timeout_s=30,
            max_idle_timeout_s=600,
            max_concurrency=4,
            protocol="2025-11-25",
        ),
        "remote": ServerEntry(
            url="https://example.com/mcp",
            headers={"Authorization": "Bearer t"},
            transport="sse",
            idle_timeout="never",
        ),
        "program": ServerEntry(command="kubectl", cli=True, cli_help="help", cli_depth=3, cli_only=("get", "describe")),
    }


def test_both_names_of_the_section_may_be_used_together() -> None:
    parsed = read("servers: {a: {command: x}}\nmcpServers: {b: {command: y}}\n")
    assert list(parsed.settings.servers) == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    [
        "servers: {a: {command: x}}\nmcpServers: {a: {command: y}, b: {command: z}}\n",
        "servers:\n  a: {command: x}\n  a: {command: y}\n  b: {command: z}\n",
    ],
)
def test_a_name_given_twice_disables_it_and_no_other(text: str) -> None:
    parsed = read(text)
    assert (list(parsed.settings.servers), list(parsed.disabled)) == (["b"], ["a"])


@pytest.mark.parametrize(
    "fields",
    [
        "command: x, url: 'http://h/'",
        "tags: [a]",
        "url: 'http://h/', cli: true",
        "command: ''",
        "command: '  '",
        "command: 'a\\0'".replace("'", '"'),
        "command: [npx, -y]",
        "command: x, args: -y",
        "command: x, args: [[a]]",
        "command: x, args: [~]",
        "command: x, env: {A: ~}",
        "command: x, env: [A=b]",
        "command: x, env: {'A=b': c}",
        "command: x, cwd: here",
        "url: ftp://h/",
        "url: 'http:///x'",
        "url: 'http://h/', headers: {'a b': c}",
        "url: 'http://h/', headers: {a: \"b\\r\\nc: d\"}",
        "url: 'http://h/', transport: stdio",
        "command: x, tags: [a..b]",
        "command: x, tools: [git_log]",
        "command: x, tools: [{alias: a}]",
        "command: x, tools: [~]",
        "command: x, tools: [{name: a}, {name: a}]",
        "command: x, tools: [{name: a, alias: c}, {name: b, alias: c}]",
        "command: x, tools: [{name: a, alias: b c}]",
        "command: x, expose: naked",
        "command: x, timeout: 0",
        "command: x, idle_timeout: sometimes",
        "command: x, min_idle_timeout: 10m",
        "command: x, max_concurrency: 0",
        "command: x, protocol: 2024-11-05",
        "command: x, cli: perhaps",
        "command: x, cli: true, cli_depth: 9",
        "command: x, enabled: perhaps",
        "command: x, command: y",
        "command: x, colour: red",
    ],
)
def test_a_mistake_in_one_entry_disables_that_server_only(fields: str) -> None:
    parsed = entry(fields)
    assert list(parsed.settings.servers) == ["good"]
    assert list(parsed.disabled) == ["it"]
    assert parsed.problems
    assert all(problem.server == "it" and problem.line == 3 and not problem.is_fatal for problem in parsed.problems)


@pytest.mark.parametrize("name", ["a b", "a__b", "_a", "a_", "a.b", "", "é", "a/b", "x" * 49])
def test_a_name_that_clients_could_not_use_is_refused(name: str) -> None:
    parsed = read(f"servers:\n  {name!r}: {{command: x}}\n")
    (problem,) = parsed.problems
    assert (list(parsed.disabled), problem.server, problem.line) == ([name], name, 2)


@pytest.mark.parametrize("text", ["servers: [a]", "mcpServers: x"])
def test_servers_that_are_no_mapping_are_fatal(text: str) -> None:
    (problem,) = read(text).problems
    assert problem.is_fatal


@pytest.mark.parametrize("text", ["servers:", "mcpServers: {}"])
def test_no_servers_are_no_problem(text: str) -> None:
    assert read(text).problems == ()


@requirement("config.missing-variable")
def test_a_missing_variable_disables_just_that_server_and_is_named() -> None:
    parsed = read(
        "servers:\n"
        "  good: {command: x}\n"
        "  bad:\n    command: y\n    env: {A: '${FIRST}', B: '${SECOND}'}\n"
        "  fallback: {command: z, env: {A: '${FIRST:-}'}}\n"
    )
    assert list(parsed.settings.servers) == ["good", "fallback"]
    assert [(problem.line, problem.server, problem.is_fatal) for problem in parsed.problems] == [(5, "bad", False)] * 2
    assert "FIRST" in parsed.disabled["bad"]
    assert "SECOND" in parsed.disabled["bad"]


@requirement("config.missing-variable")
def test_a_server_that_is_switched_off_needs_no_variables() -> None:
    parsed = entry("url: '${ADDRESS}', timeout: '${TIME}', headers: {A: 'x ${KEY}'}, enabled: '${ON:-false}'")
    assert parsed.problems == ()
    assert parsed.disabled == {"it": "switched off, with variables that are not set: ADDRESS, TIME, KEY"}
    assert list(parsed.settings.servers) == ["good"]


@requirement("config.json-paste")
@pytest.mark.parametrize("kind", ["stdio", "http", "streamable-http", "sse"])
def test_the_type_that_clients_write_is_accepted_and_noted(kind: str) -> None:
    parsed = entry(f"command: x, type: {kind}")
    (problem,) = parsed.problems
    assert (problem.severity, problem.path) == ("warning", "servers.it.type")
    assert parsed.settings.servers["it"].kind == "stdio"


def test_a_pasted_sse_server_is_told_how_to_keep_its_transport() -> None:
    (problem,) = entry("url: 'http://h/sse', type: sse").problems
    assert "`transport: sse`" in problem.fix


@pytest.mark.parametrize(
    ("key", "fix"),
    [("disabled: true", "`enabled: false`"), ("httpUrl: x", "`url`"), ("serverUrl: x", "`url`")],
)
def test_keys_of_other_programs_are_translated(key: str, fix: str) -> None:
    problem = entry(f"command: x, {key}").problems[0]
    assert fix in problem.fix


@pytest.mark.parametrize(
    "fields",
    [
        "command: x, headers: {a: b}",
        "command: x, transport: sse",
        "command: x, cli_depth: 3",
        "url: 'http://h/', args: [a]",
        "url: 'http://h/', cwd: /",
        "command: npx -y thing",
    ],
)
def test_what_has_no_effect_is_a_warning_and_the_server_stays(fields: str) -> None:
    parsed = entry(fields)
    assert [problem.severity for problem in parsed.problems] == ["warning"]
    assert "it" in parsed.settings.servers


@pytest.mark.parametrize("command", ["/opt/my tools/run", "./my tools/run"])
def test_a_path_with_spaces_is_a_fine_command(command: str) -> None:
    assert entry(f"command: {command}").problems == ()


@pytest.mark.parametrize(
    "fields",
    ["args: hunter2, command: x", "url: hunter2", "env: hunter2", "headers: {A: \"hunter2\\n\"}, url: 'http://h'"],
)
def test_no_problem_repeats_what_may_be_a_secret(fields: str) -> None:
    parsed = entry(fields)
    assert parsed.disabled
    assert "hunter2" not in str([*map(str, parsed.problems), parsed.disabled])
