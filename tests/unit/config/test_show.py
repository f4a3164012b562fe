"""What is shown of settings: the value in force, where it came from, and never a secret."""

import json
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from limen.config.load import Loaded
from limen.config.parse import parse
from limen.config.paths import find_paths
from limen.config.show import show
from tests.requirements import requirement

SERVERS = """
tier: write
servers:
  web:
    url: https://you:hunter2@example.com/mcp?apiKey=hunter2&page=2&token=${TOKEN}
    headers: {Authorization: "Bearer ${TOKEN}", X-Plain: hunter2, X-Mixed: "hunter2-${TOKEN:-hunter2}"}
  local:
    command: run
    args: [--verbose, --api-key, hunter2, --token=hunter2, --secret, "${TOKEN}", "Bearer hunter2hunter2", --depth, 3]
    env: {A: hunter2, B: "${TOKEN}", C: ""}
    enabled: true
    timeout: 2m
    cwd: /srv
  broken:
    command: run
    env: {A: "${NOT_SET}", B: hunter2}
    args: --token hunter2
    timeout: never
"""


def loaded(text: str, **env: str) -> Loaded:
    parsed = parse(text, "limen.yaml", env)
    return Loaded(
        settings=parsed.settings,
        path=Path("/x/limen.yaml"),
        paths=find_paths({"LIMEN_HOME": "/x"}, Path("/")),
        problems=parsed.problems,
        disabled=parsed.disabled,
        origins=parsed.origins,
    )


def rows(text: str, **env: str) -> dict[str, dict[str, object]]:
    return msgspec.convert(show(loaded(text, **env))["settings"], dict[str, dict[str, object]])


@requirement("config.show")
def test_each_value_is_shown_with_its_source() -> None:
    shown = rows("tier: write\nserver:\n  keepalive_s: 1m\n", LIMEN_PORT="9")
    assert shown["tier"] == {"value": "write", "from": "limen.yaml:1"}
    assert shown["server.keepalive_s"] == {"value": 60.0, "from": "limen.yaml:3"}
    assert shown["server.port"] == {"value": 9, "from": "$LIMEN_PORT"}
    assert shown["server.host"] == {"value": "127.0.0.1", "from": "default"}


@requirement("config.show")
def test_no_secret_of_a_server_is_shown() -> None:
    found = loaded(SERVERS, TOKEN="s3cr3tvalue")
    text = json.dumps([show(found), repr(found), [str(problem) for problem in found.problems]])
    assert "hunter2" not in text
    assert "s3cr3tvalue" not in text


@requirement("config.show")
def test_placeholders_stay_readable() -> None:
    shown = rows(SERVERS, TOKEN="s3cr3tvalue")
    assert shown["servers.web.url"]["value"] == (
        "https://you:[redacted]@example.com/mcp?apiKey=[redacted]&page=2&token=${TOKEN}"
    )
    assert shown["servers.web.headers"]["value"] == {
        "Authorization": "Bearer ${TOKEN}",
        "X-Plain": "[redacted]",
        "X-Mixed": "[redacted]${TOKEN:-[redacted]}",
    }
    assert shown["servers.local.args"]["value"] == [
        "--verbose",
        "--api-key",
        "[redacted]",
        "--token=[redacted]",
        "--secret",
        "${TOKEN}",
        "Bearer [redacted]",
        "--depth",
        "3",
    ]
    assert shown["servers.local.env"]["value"] == {"A": "[redacted]", "B": "${TOKEN}", "C": ""}


def test_numbers_and_flags_of_a_server_are_shown_as_they_are_in_force() -> None:
    shown = rows(SERVERS, TOKEN="t")
    assert (shown["servers.local.timeout"]["value"], shown["servers.local.enabled"]["value"]) == (120.0, True)
    assert shown["servers.local.cwd"] == {"value": "/srv", "from": "limen.yaml:13"}


def test_a_disabled_server_is_shown_as_written_with_the_reason() -> None:
    found = loaded(SERVERS, TOKEN="t")
    assert show(found)["disabled"] == dict(found.disabled)
    assert rows(SERVERS)["servers.broken.env"]["value"] == {"A": "${NOT_SET}", "B": "[redacted]"}


def test_a_value_that_was_refused_is_shown_as_the_default_it_is() -> None:
    assert rows("tier: root")["tier"] == {"value": "read", "from": "default"}


@requirement("config.show")
@settings(deadline=None)
@given(st.from_regex(r"[A-Za-z0-9!@#%^*+./-]{12,40}", fullmatch=True))
def test_no_literal_of_an_environment_or_a_header_is_shown(secret: str) -> None:
    entry = {"url": "https://example.com/", "headers": {"X": secret, "Authorization": f"Bearer {secret}"}}
    local = {"command": "x", "env": {"A": secret, "B": f"${{C:-{secret}}}", "D": f"{secret}${{E:-}}{secret}"}}
    found = loaded(json.dumps({"servers": {"web": entry, "local": local}}))
    assert secret not in json.dumps(show(found)).replace("https://example.com/", "")
