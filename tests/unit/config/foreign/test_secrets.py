"""Secrets that stand in other programs' files stay there."""

import json

import pytest

from limen.config.foreign.secrets import SecretNames, Secrets
from tests.requirements import requirement

LITERAL = "ghp_abcdefabcdefabcdefabcd"


def secrets(names: SecretNames | None = None) -> Secrets:
    return Secrets("git-hub", names or SecretNames())


@requirement("client.import-no-secrets")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_TOKEN", LITERAL),
        ("GITHUB_TOKEN", "plain words"),
        ("SOMETHING", LITERAL),
        ("OPENAI_KEY", "abc123"),
        ("DB_PASSWORD", "hunter2"),
        ("TOKEN", f"${{TOKEN:-{LITERAL}}}"),
    ],
)
def test_a_literal_secret_becomes_a_variable_that_is_told(name: str, value: str) -> None:
    mover = secrets()
    moved = mover.env({name: value})
    assert moved[name].startswith("${")
    assert moved[name].endswith("}")
    assert value not in moved[name]
    assert mover.moved == [moved[name][2:-1]]


@requirement("client.import-no-secrets")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_TOKEN", "${GITHUB_TOKEN}"),
        ("GITHUB_TOKEN", ""),
        ("MAX_TOKENS", "4096"),
        ("USE_TOKEN", "true"),
        ("TOKEN_FILE", "/run/secrets/token"),
        ("KEYBOARD", "dvorak"),
        ("LEVEL", "info"),
    ],
)
def test_what_is_no_secret_stays(name: str, value: str) -> None:
    mover = secrets()
    assert mover.env({name: value}) == {name: value}
    assert not mover.moved


@requirement("client.import-no-secrets")
def test_headers_keep_their_scheme() -> None:
    headers = {"Authorization": f"Bearer {LITERAL}", "X-API-Key": "abc123", "X-Team": "core", "Cookie": "${JAR}"}
    assert secrets().headers(headers) == {
        "Authorization": "Bearer ${GIT_HUB_TOKEN}",
        "X-API-Key": "${GIT_HUB_X_API_KEY}",
        "X-Team": "core",
        "Cookie": "${JAR}",
    }


@requirement("client.import-no-secrets")
def test_arguments_are_known_by_the_option_before_them() -> None:
    words = ["-y", "pkg", "--api-key", "abc", "--token=def", "-e", "DB_PASSWORD=ghi", "--port", "80", LITERAL]
    assert secrets().arguments(words) == [
        "-y",
        "pkg",
        "--api-key",
        "${GIT_HUB_API_KEY}",
        "--token=${GIT_HUB_TOKEN}",
        "-e",
        "DB_PASSWORD=${DB_PASSWORD}",
        "--port",
        "80",
        "${GIT_HUB_SECRET}",
    ]


@requirement("client.import-no-secrets")
@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "https://example.com/mcp?api_key=abcdefg&lang=en",
            "https://example.com/mcp?api_key=${GIT_HUB_API_KEY}&lang=en",
        ),
        ("https://you:hunter2@example.com/mcp", "https://you:${GIT_HUB_SECRET}@example.com/mcp"),
        ("https://example.com/s/MWYzNTQ5ZmQtYjQwYS00/mcp", "https://example.com/s/${GIT_HUB_KEY}/mcp"),
        (
            "https://example.com/a-long-name-of-a-server-2024/mcp",
            "https://example.com/a-long-name-of-a-server-2024/mcp",
        ),
        ("https://example.com/${ACCOUNT}/mcp?token=${TOKEN}", "https://example.com/${ACCOUNT}/mcp?token=${TOKEN}"),
    ],
)
def test_addresses_lose_what_opens_them(url: str, expected: str) -> None:
    assert secrets().url(url) == expected


@requirement("client.import-no-secrets")
def test_two_different_secrets_never_share_a_variable() -> None:
    names = SecretNames()
    first = Secrets("work", names).env({"GITHUB_TOKEN": "aaa bbb"})
    second = Secrets("home", names).env({"GITHUB_TOKEN": "ccc ddd"})
    again = Secrets("other", names).env({"GITHUB_TOKEN": "aaa bbb"})
    assert first == again == {"GITHUB_TOKEN": "${GITHUB_TOKEN}"}
    assert second == {"GITHUB_TOKEN": "${HOME_GITHUB_TOKEN}"}
    assert "aaa" not in json.dumps([first, second])
