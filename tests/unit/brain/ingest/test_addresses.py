"""Which addresses may be fetched: every disguise of a private one is refused."""

from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.brain.ingest.addresses import FetchRules, Target, check_addresses, check_redirect, check_url, read_networks
from limen.errors import ConfigInvalid, FetchRefused
from tests.requirements import requirement

RULES = FetchRules()


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("http://example.org", "http://example.org/"),
        ("HTTPS://Example.ORG:443/a?b=c#d", "https://example.org/a?b=c"),
        ("http://example.org:8080/x", "http://example.org:8080/x"),
        ("https://b\u00fccher.example/\u00fc", "https://xn--bcher-kva.example/%C3%BC"),
        ("http://example.org./", "http://example.org/"),
        ("http://8.8.8.8/", "http://8.8.8.8/"),
        ("http://[2606:4700::1111]/", "http://[2606:4700::1111]/"),
        ("http://example.org?q=1", "http://example.org/?q=1"),
    ],
)
@requirement("ingest.url-rules")
def test_ordinary_addresses_are_taken_in_their_plain_form(url: str, plain: str) -> None:
    assert check_url(url, RULES).url == plain


@requirement("ingest.url-rules")
def test_a_name_that_looks_like_another_is_shown_as_what_it_is() -> None:
    assert check_url("https://\u0430pple.com/", RULES).host == "xn--pple-43d.com"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "no url",
        "example.org",
        "//example.org/",
        "file:///etc/passwd",
        "ftp://example.org/",
        "gopher://example.org/",
        "data:text/plain,x",
        "javascript:alert(1)",
        "http:///path",
        "http://",
        "http://user:pass@example.org/",
        "http://user@example.org/",
        "http://@example.org/",
        "http://example.org:22/",
        "http://example.org:0/",
        "http://example.org:99999/",
        "http://example.org:x/",
        "http://exa mple.org/",
        "http://example.org/\r\nHost: evil",
        "http://example.org\\@evil.org/",
        "http://%31%32%37.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://0x7f.1/",
        "http://0x7f000001/",
        "http://0/",
        "http://127.0.0.1.2.3/",
        "http://256.1.1.1/",
        "http://1.2.3/",
        "http://[::1/",
        "http://[fe80::1%25eth0]/",
        "http://[::ffff:127.0.0.1%25lo]/",
        "http://-x.example/",
        "http://" + "a" * 64 + ".example/",
        "http://" + "a." * 130 + "example/",
        "http://example.org/" + "x" * 3000,
        "http://\u2488/",
        "http://xn--\ud800.org/",
    ],
)
@requirement("ingest.url-rules")
def test_what_is_no_plain_web_address_is_refused(url: str) -> None:
    with pytest.raises(FetchRefused) as refused:
        check_url(url, RULES)
    assert refused.value.code == "fetch_refused"
    assert refused.value.facts["field"] == "url"


PRIVATE = [
    "127.0.0.1",
    "127.8.9.1",
    "0.0.0.0",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a00:1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "fe80::1",
    "fec0::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "2001:db8::1",
    "3fff::1",
    "5f00::1",
    "100::1",
]


@pytest.mark.parametrize("address", PRIVATE)
@requirement("ingest.url-rules")
def test_private_addresses_are_refused_as_answers_of_a_name_and_as_hosts(address: str) -> None:
    target = Target("http", "example.org", 80, "/")
    with pytest.raises(FetchRefused, match=r"memory\.allowed_hosts"):
        check_addresses(target, [address], RULES)
    with pytest.raises(FetchRefused):
        check_addresses(target, ["8.8.8.8", address], RULES)
    written = check_url(f"http://[{address}]/" if ":" in address else f"http://{address}/", RULES)
    with pytest.raises(FetchRefused):
        check_addresses(written, [written.host], RULES)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]
)
@requirement("ingest.url-rules")
def test_public_addresses_are_taken_in_whatever_they_are_wrapped(address: str) -> None:
    assert [str(found) for found in check_addresses(Target("http", "x.org", 80, "/"), [address], RULES)]


@pytest.mark.parametrize(
    "url",
    [
        "http://\u24dbocalhost/",
        "http://localhost/",
        "http://\u2460\u2461\u2466.0.0.1/",
        "http://\uff11\uff12\uff17.0.0.1/",
    ],
)
@requirement("ingest.url-rules")
def test_dressed_up_names_of_this_machine_are_seen_through(url: str) -> None:
    target = check_url(url, RULES)
    assert target.host in ("localhost", "127.0.0.1")
    with pytest.raises(FetchRefused):
        check_addresses(target, ["127.0.0.1"], RULES)


@requirement("ingest.url-rules")
def test_a_name_without_addresses_is_refused() -> None:
    with pytest.raises(FetchRefused):
        check_addresses(Target("http", "x.org", 80, "/"), [], RULES)


@requirement("ingest.url-rules")
def test_allowed_networks_and_hosts_open_exactly_what_they_name() -> None:
    rules = FetchRules(
        allowed_networks=read_networks(["10.0.0.0/8", "fd00::/8"]),
        allowed_hosts=frozenset({"wiki.lan", "dev.lan:9000"}),
    )
    inside = Target("http", "x.org", 80, "/")
    assert check_addresses(inside, ["10.1.2.3", "fd00::1"], rules)
    assert check_addresses(inside, ["::ffff:10.1.2.3"], rules)
    with pytest.raises(FetchRefused):
        check_addresses(inside, ["192.168.0.1"], rules)
    assert check_addresses(check_url("http://wiki.lan/", rules), ["192.168.0.1"], rules)
    assert check_addresses(check_url("http://dev.lan:9000/", rules), ["127.0.0.1"], rules)
    for url in ("http://wiki.lan:9000/", "http://sub.dev.lan:9000/"):
        with pytest.raises(FetchRefused):
            check_url(url, rules)
    with pytest.raises(FetchRefused):
        check_addresses(check_url("http://dev.lan/", rules), ["127.0.0.1"], rules)


@requirement("ingest.url-rules")
def test_networks_in_settings_must_be_networks() -> None:
    assert read_networks([" 10.1.2.3/8 "]) == [ip_network("10.0.0.0/8")]
    with pytest.raises(ConfigInvalid, match="allowed_networks"):
        read_networks(["localhost"])


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "http://u:p@x.org/", "//x.org:22/", "http://[", "javascript:1"]
)
@requirement("ingest.url-rules")
def test_redirects_obey_the_same_rules(location: str) -> None:
    with pytest.raises(FetchRefused):
        check_redirect(Target("https", "x.org", 443, "/a/b"), location, RULES)


@requirement("ingest.url-rules")
def test_redirects_may_be_relative() -> None:
    target = Target("https", "x.org", 443, "/a/b")
    assert check_redirect(target, "c?d", RULES).url == "https://x.org/a/c?d"
    assert check_redirect(target, "//y.org/z", RULES).url == "https://y.org/z"


@given(
    st.one_of(
        st.text(), st.text().map("http://".__add__), st.text(alphabet="0123456789abcdefx.:[]@/%").map("http://".__add__)
    )
)
@requirement("ingest.url-rules")
def test_a_url_is_either_refused_or_plain(url: str) -> None:
    try:
        target = check_url(url, RULES)
    except FetchRefused:
        return
    assert check_url(target.url, RULES) == target
    assert target.url.isascii()


@given(st.integers(0, 2**32 - 1))
@requirement("ingest.url-rules")
def test_wrapping_an_address_never_makes_it_public(number: int) -> None:
    plain = IPv4Address(number)
    target = Target("http", "x.org", 80, "/")
    wrapped = [
        IPv6Address((0xFFFF << 32) | number),
        IPv6Address((0x2002 << 112) | (number << 80)),
        IPv6Address((0x64FF9B << 96) | number),
    ]

    def is_taken(address: object) -> bool:
        try:
            check_addresses(target, [str(address)], RULES)
        except FetchRefused:
            return False
        return True

    assert {is_taken(address) for address in wrapped} == {is_taken(plain)}
