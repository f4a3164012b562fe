"""The guard of Host and Origin: what it lets pass is a short list, and everything else is refused."""

import pytest

from limen.errors import ConfigInvalid
from limen.server.guard import Guard
from tests.requirements import requirement

GUARD = Guard.build("127.0.0.1", 8765)
TEAM = Guard.build(
    "10.0.0.7", 8765, ("hub.example", "proxy.example:443", "FE80::1"), ("https://app.example", "http://localhost:3000")
)

OWN_HOSTS = ["127.0.0.1:8765", "localhost:8765", "[::1]:8765", "LOCALHOST:8765"]
FOREIGN_HOSTS = [
    "",
    " ",
    "*",
    "null",
    "a b",
    "evil.example",
    "evil.example:8765",
    "localhost.evil.example:8765",
    "evil.example.localhost:8765",
    "xlocalhost:8765",
    "localhost",
    "127.0.0.1",
    "[::1]",
    "::1",
    "::1:8765",
    "[::1",
    "[::1]8765",
    "127.0.0.1:",
    "127.0.0.1:80",
    "127.0.0.1:8766",
    "127.0.0.1:87650",
    "127.0.0.1:08765",
    "127.0.0.1:8765:8765",
    "127.0.0.1/admin?x=",
    "127.0.0.1:8765/",
    "127.0.0.1:8765/admin?x=",
    "127.0.0.1:8765#",
    "127.0.0.1:8765?",
    "127.0.0.1:8765@evil",
    "127.0.0.1:8765@evil.example",
    "evil@127.0.0.1:8765",
    "user:secret@127.0.0.1:8765",
    "localhost.:8765",
    "127.0.0.1.:8765",
    "127.0.0.2:8765",
    "127.1:8765",
    "2130706433:8765",
    "0x7f000001:8765",
    "0177.0.0.1:8765",
    "0.0.0.0:8765",
    "[::]:8765",
    "[::ffff:127.0.0.1]:8765",
    "[0:0:0:0:0:0:0:1]:8765",
    "http://127.0.0.1:8765",
    "127.0.0.1:8765,evil.example",
    "127.0.0.1:8765 evil.example",
    " 127.0.0.1:8765",
    "127.0.0.1:8765 ",
    "127.0.0.1:8765\x00",
    "127.0.0.1\\:8765",
    "loc\xe4lhost:8765",
]
OWN_ORIGINS = [None, "http://127.0.0.1:8765", "http://localhost:8765", "http://[::1]:8765"]
FOREIGN_ORIGINS = [
    "",
    " ",
    "*",
    "null",
    "NULL",
    "http://evil.example",
    "https://evil.example:8765",
    "http://127.0.0.1:8765.evil.example",
    "http://127.0.0.1.evil.example:8765",
    "http://evil.example/http://127.0.0.1:8765",
    "http://127.0.0.1:8765@evil.example",
    "http://127.0.0.1:8765/",
    "http://127.0.0.1:8765/mcp",
    "http://127.0.0.1:8765?x=",
    "http://127.0.0.1",
    "http://localhost",
    "http://localhost:3000",
    "http://localhost.:8765",
    "https://localhost:8765",
    "HTTP://localhost:8765",
    "http://LOCALHOST:8765",
    "ws://localhost:8765",
    "file://",
    "localhost:8765",
    "//localhost:8765",
    "http:localhost:8765",
    "http://0.0.0.0:8765",
    "chrome-extension://abcdefghijklmnop",
    "http://localhost:8765 http://evil.example",
    "http://localhost:8765, http://evil.example",
]


def headers_of(host: str | None, origin: str | None = None, site: str | None = None) -> list[tuple[bytes, bytes]]:
    given = {"accept": "*/*", "host": host, "origin": origin, "sec-fetch-site": site, "content-type": "text/plain"}
    return [(name.encode(), value.encode("latin-1")) for name, value in given.items() if value is not None]


def status(guard: Guard, *headers: tuple[bytes, bytes]) -> int | None:
    refusal = guard.check(list(headers))
    return None if refusal is None else refusal.status


@pytest.mark.parametrize("origin", OWN_ORIGINS)
@pytest.mark.parametrize("host", OWN_HOSTS)
def test_own_hosts_and_origins_pass_in_every_combination(host: str, origin: str | None) -> None:
    assert GUARD.check(headers_of(host, origin)) is None


@requirement("http.host-checked")
@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_any_other_host_is_misdirected_whatever_its_origin(host: str) -> None:
    for origin in [*OWN_ORIGINS, *FOREIGN_ORIGINS]:
        assert status(GUARD, *headers_of(host, origin)) == 421


@requirement("http.origin-checked")
@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_any_other_origin_is_refused_whatever_its_host(origin: str) -> None:
    for host in OWN_HOSTS:
        assert status(GUARD, *headers_of(host, origin)) == 403
        assert status(GUARD, *headers_of(host, origin, "same-origin")) == 403


def test_a_request_without_a_host_is_misdirected() -> None:
    assert status(GUARD, (b"accept", b"*/*")) == 421
    assert status(GUARD, *headers_of(None, "http://localhost:8765")) == 421


@pytest.mark.parametrize("second", ["127.0.0.1:8765", "localhost:8765", "evil.example", ""])
def test_two_hosts_are_misdirected_even_when_both_are_allowed(second: str) -> None:
    assert status(GUARD, *headers_of("127.0.0.1:8765"), (b"host", second.encode())) == 421
    assert status(GUARD, (b"host", second.encode()), *headers_of("127.0.0.1:8765")) == 421


@pytest.mark.parametrize("second", ["http://localhost:8765", "http://evil.example", "null", ""])
def test_two_origins_are_refused_even_when_both_are_allowed(second: str) -> None:
    assert status(GUARD, *headers_of("localhost:8765", "http://localhost:8765"), (b"origin", second.encode())) == 403


def test_a_cross_site_request_needs_an_allowed_origin() -> None:
    assert status(GUARD, *headers_of("localhost:8765", None, "cross-site")) == 403
    assert status(GUARD, *headers_of("localhost:8765", "http://evil.example", "cross-site")) == 403
    assert status(TEAM, *headers_of("hub.example", "https://app.example", "cross-site")) is None
    assert status(GUARD, *headers_of("localhost:8765", None, "none"), (b"sec-fetch-site", b"cross-site")) == 403


@pytest.mark.parametrize("site", ["same-origin", "same-site", "none", None])
def test_other_values_of_sec_fetch_site_change_nothing(site: str | None) -> None:
    assert status(GUARD, *headers_of("localhost:8765", None, site)) is None


@pytest.mark.parametrize(
    "host",
    [
        "10.0.0.7:8765",
        "127.0.0.1:8765",
        "hub.example",
        "hub.example:8765",
        "Hub.Example",
        "proxy.example:443",
        "[fe80::1]",
    ],
)
def test_the_bound_address_and_configured_hosts_pass(host: str) -> None:
    assert TEAM.check(headers_of(host)) is None


@pytest.mark.parametrize(
    "host",
    [
        "10.0.0.7",
        "10.0.0.8:8765",
        "hub.example:443",
        "hub.example.",
        "a.hub.example",
        "proxy.example",
        "proxy.example:8765",
    ],
)
def test_neighbours_of_configured_hosts_are_misdirected(host: str) -> None:
    assert status(TEAM, *headers_of(host)) == 421


@pytest.mark.parametrize("origin", ["https://app.example", "http://localhost:3000", "http://10.0.0.7:8765"])
def test_configured_origins_and_the_bound_address_pass(origin: str) -> None:
    assert TEAM.check(headers_of("hub.example", origin)) is None


@pytest.mark.parametrize(
    "origin",
    [
        "http://app.example",
        "https://app.example:443",
        "https://a.app.example",
        "https://app.example.evil.example",
        "http://hub.example",
        "https://hub.example",
        "http://hub.example:8765",
        "http://localhost:3001",
        "http://10.0.0.7",
        "null",
    ],
)
def test_an_allowed_host_is_not_yet_an_allowed_origin(origin: str) -> None:
    assert status(TEAM, *headers_of("hub.example", origin)) == 403


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_guard_bound_everywhere_takes_no_wildcard_for_a_name(host: str) -> None:
    guard = Guard.build(host, 8765)
    assert guard.check(headers_of("127.0.0.1:8765")) is None
    assert status(guard, *headers_of("0.0.0.0:8765")) == 421
    assert status(guard, *headers_of("[::]:8765")) == 421
    assert status(guard, *headers_of("127.0.0.1:8765", "http://0.0.0.0:8765")) == 403


def test_the_port_of_the_scheme_may_be_left_out() -> None:
    guard = Guard.build("127.0.0.1", 80)
    assert guard.check(headers_of("localhost", "http://localhost")) is None
    assert guard.check(headers_of("localhost:80", "http://localhost")) is None
    assert status(guard, *headers_of("localhost:8765")) == 421


@pytest.mark.parametrize(
    "entry", ["", "*", "*.example", "a b", "http://hub.example", "hub.example/", "hub.example:", "a@b", "x."]
)
def test_a_configured_host_that_could_never_match_is_an_error(entry: str) -> None:
    with pytest.raises(ConfigInvalid, match="allowed_hosts"):
        Guard.build("127.0.0.1", 8765, (entry,))


@pytest.mark.parametrize("entry", ["", "*", "null", "app.example", "https://app.example/", "https://a@b", "https://"])
def test_a_configured_origin_that_could_never_match_is_an_error(entry: str) -> None:
    with pytest.raises(ConfigInvalid, match="allowed_origins"):
        Guard.build("127.0.0.1", 8765, (), (entry,))


def test_a_refusal_shows_a_hostile_header_in_a_printable_and_short_form() -> None:
    refusal = GUARD.check(headers_of("\x1b[31mevil" + "x" * 5000))
    assert refusal is not None
    assert refusal.reason.isprintable()
    assert len(refusal.reason) < 300
