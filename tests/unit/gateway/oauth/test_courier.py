"""Secrets of a sign-in go to HTTPS, to the server itself, or stay on this machine."""

import pytest

from limen.errors import AuthRequired
from limen.gateway.oauth.courier import check_address

REMOTE = "https://mcp.example.com/mcp"
PLAIN = "http://mcp.intranet:8000/mcp"
LOCAL = "http://127.0.0.1:9000/mcp"


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("https://id.example.com/token", REMOTE),
        ("https://id.example.com/token", PLAIN),
        ("http://mcp.intranet:8000/token", PLAIN),
        ("http://localhost:7000/token", LOCAL),
        ("http://[::1]:7000/token", LOCAL),
    ],
)
def test_addresses_that_may_see_a_secret(url: str, server: str) -> None:
    check_address(url, server)


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("http://id.example.com/token", REMOTE),
        ("http://mcp.example.com/token", REMOTE),
        ("http://127.0.0.1:7000/token", REMOTE),
        ("http://mcp.intranet:8001/token", PLAIN),
        ("http://169.254.169.254/latest", LOCAL),
        ("file:///etc/passwd", REMOTE),
        ("javascript:alert(1)", REMOTE),
        ("--version", REMOTE),
        ("", REMOTE),
        ("https://id.example.com/\r\nHost: other", REMOTE),
        ("https://[bad/token", REMOTE),
    ],
)
def test_addresses_that_may_not(url: str, server: str) -> None:
    with pytest.raises(AuthRequired):
        check_address(url, server)
