"""Only who comes over loopback is taken for the hub's own user."""

import pytest

from limen.errors import AuthRequired
from limen.server.auth import LocalPeers
from tests.house import a_caller
from tests.requirements import requirement

LOCAL = a_caller()


@requirement("http.local-only")
@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])
def test_loopback_is_the_hubs_own_user(host: str) -> None:
    assert LocalPeers(LOCAL)({"client": (host, 50000)}) is LOCAL


@requirement("http.local-only")
@pytest.mark.parametrize(
    "client",
    [
        ("192.0.2.7", 50000),
        ("10.0.0.1", 50000),
        ("0.0.0.0", 50000),
        ("2001:db8::1", 50000),
        ("::ffff:192.0.2.7", 50000),
        ("fe80::1%eth0", 50000),
        ("localhost", 50000),
        ("", 0),
        None,
    ],
)
def test_anybody_else_is_nobody(client: tuple[str, int] | None) -> None:
    with pytest.raises(AuthRequired):
        LocalPeers(LOCAL)({"client": client})
