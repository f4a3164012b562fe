"""Redaction: secrets go, everything else stays."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.redact import MASK, redact_text, redact_value
from tests.requirements import requirement
from tests.unit.protocol.json_strategies import values

KEY_BLOCK = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAAAA\n-----END RSA PRIVATE KEY-----"
TOKEN = "abcdef0123456789ABCDEF"

# Put together here, so that no scanner mistakes this file for a leak.
SECRETS = [
    f"sk-{TOKEN}",
    f"sk-proj-{TOKEN}",
    f"pk_live_{TOKEN}",
    f"ghp_{TOKEN}",
    f"github_pat_{TOKEN}",
    f"xoxb-{TOKEN}",
    "AKIA" + "ABCDEFGHIJKLMNOP",
    f"eyJ{TOKEN}.{TOKEN}.{TOKEN}",
    KEY_BLOCK,
    KEY_BLOCK.rpartition("-----END")[0],
]


@requirement("audit.redacted")
@pytest.mark.parametrize("secret", SECRETS)
def test_what_looks_like_a_credential_is_masked_in_the_middle_of_a_text(secret: str) -> None:
    shown = redact_text(f"before {secret}")
    assert secret not in shown
    assert shown.startswith(f"before {MASK}")


@requirement("audit.redacted")
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "Basic"])
def test_the_scheme_of_a_credential_stays_and_the_credential_goes(scheme: str) -> None:
    assert redact_text(f"Authorization: {scheme} {TOKEN}") == f"Authorization: {scheme} {MASK}"


@requirement("audit.redacted")
def test_the_password_in_a_url_goes_and_the_rest_stays() -> None:
    assert redact_text("https://me:hunter2@host/x") == f"https://me:{MASK}@host/x"


@pytest.mark.parametrize(
    "text", ["", "hello", "sk-ip", "basic English", "a@b.c", "https://host/path?x=1", "task-list-of-things"]
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert redact_text(text) == text


@requirement("audit.redacted")
@pytest.mark.parametrize(
    "name",
    [
        "password",
        "Passwd",
        "client_secret",
        "apiKey",
        "api-key",
        "X-Auth-Token",
        "Authorization",
        "cookie",
        "private_key",
    ],
)
@pytest.mark.parametrize("value", ["x", 7, ["x"], {"a": "x"}])
def test_a_field_that_names_a_secret_is_masked_whatever_it_holds(name: str, value: Any) -> None:
    assert redact_value({"outer": [{name: value, "other": 1}]}) == {"outer": [{name: MASK, "other": 1}]}


@pytest.mark.parametrize("value", [None, True, False])
def test_a_secret_that_is_only_said_to_be_there_or_not_stays(value: object) -> None:
    assert redact_value({"token": value}) == {"token": value}


@requirement("audit.redacted")
@given(values, st.sampled_from(SECRETS))
def test_no_value_keeps_a_credential_wherever_it_stands(value: Any, secret: str) -> None:
    assert secret not in str(redact_value({"a": [value, {"b": secret}]}))


def test_what_is_nested_too_deep_to_look_at_is_masked() -> None:
    value: Any = "plain"
    for _ in range(30):
        value = [value]
    assert MASK in str(redact_value(value))
    assert "plain" not in str(redact_value(value))


@given(values)
def test_a_value_without_secrets_keeps_its_shape(value: Any) -> None:
    shown = redact_value(value)
    assert type(shown) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "sk-" + "a-" * 100_000,
        "://" + "a" * 200_000 + ":" + "b" * 200_000,
        "-----BEGIN PRIVATE KEY-----" * 3_000,
        "eyJ" + "a" * 200_000,
        "bearer " * 50_000,
        "://a:" * 50_000,
    ],
)
def test_hostile_text_is_looked_through_in_bounded_time(text: str) -> None:
    # No clock is looked at: what is quadratic here runs into the suite's own time-out.
    redact_text(text)
