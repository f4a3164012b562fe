"""Addresses have one spelling, and nothing secret is shown."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.clock import now_ms
from limen.gateway.oauth.callback import Return
from limen.gateway.oauth.tokens import Credential, Registration, Tokens, normal_url
from limen.transport.authorizer import Challenge
from tests.requirements import requirement

CANARY = "do-not-show-me"


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("https://Mcp.Example.com/mcp/", "https://mcp.example.com/mcp"),
        ("HTTPS://mcp.example.com:443/mcp", "https://mcp.example.com/mcp"),
        ("https://mcp.example.com:8443/mcp#part", "https://mcp.example.com:8443/mcp"),
        ("http://mcp.example.com:80", "http://mcp.example.com"),
        ("https://me:pass@mcp.example.com/mcp?team=a", "https://mcp.example.com/mcp?team=a"),
        ("http://[::1]:9000/Mcp", "http://[::1]:9000/Mcp"),
    ],
)
def test_one_server_has_one_address(url: str, normal: str) -> None:
    assert normal_url(url) == normal


@given(
    st.sampled_from(["http", "https"]),
    st.from_regex(r"[a-z]{1,8}(\.[a-z]{2,5}){1,2}", fullmatch=True),
    st.none() | st.integers(1, 65535),
    st.from_regex(r"(/[a-zA-Z0-9]{1,5}){0,3}/?", fullmatch=True),
)
def test_the_spelling_of_an_address_is_settled_in_one_step(scheme: str, host: str, port: int | None, path: str) -> None:
    once = normal_url(f"{scheme}://{host}{'' if port is None else f':{port}'}{path}")
    assert normal_url(once) == once


def test_different_ports_are_different_servers() -> None:
    assert normal_url("https://a.example:8443/mcp") != normal_url("https://a.example/mcp")


@requirement("oauth.secrets")
@pytest.mark.parametrize(
    "holder",
    [
        Tokens(access_token=CANARY, refresh_token=CANARY),
        Registration(client_id="id", client_secret=CANARY),
        Credential(server="https://a.example", tokens=Tokens(access_token=CANARY)),
        Return(code=CANARY, state=CANARY, iss=None),
        Challenge(401, "Bearer", sent=f"Bearer {CANARY}"),
    ],
    ids=lambda holder: type(holder).__name__,
)
def test_what_holds_a_secret_does_not_show_it(holder: object) -> None:
    assert CANARY not in f"{holder!r} {holder!s} {[holder]!r}"


def test_a_token_about_to_end_is_not_used() -> None:
    assert Tokens(access_token="a").is_valid
    assert Tokens(access_token="a", expires_at_ms=now_ms() + 60_000).is_valid
    assert not Tokens(access_token="a", expires_at_ms=now_ms() + 1_000).is_valid


def test_a_credential_is_the_same_after_it_was_written_and_read() -> None:
    whole = Credential(
        server="https://a.example/mcp",
        issuer="https://id.example",
        tokens=Tokens(access_token="a", refresh_token="r", expires_at_ms=5, scope="x y"),
        registration=Registration(
            client_id="c", client_secret="s", redirect_uri="http://127.0.0.1:8085/callback", secret_expires_at_s=7
        ),
        token_endpoint="https://id.example/token",
        resource="https://a.example/mcp",
    )
    assert msgspec.json.decode(msgspec.json.encode(whole), type=Credential) == whole
