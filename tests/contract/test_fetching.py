"""Fetching over real sockets: servers that redirect, lie, drip and explode, and names whose answers change."""

import asyncio
import ssl
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from limen.brain.ingest.addresses import FetchRules
from limen.brain.ingest.fetching import Fetcher, Resolve, look_up
from limen.brain.ingest.readers import read
from limen.errors import FetchFailed, FetchRefused
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

Answer = Callable[[str, asyncio.StreamWriter], Awaitable[None]]
LIMIT = 100_000


@dataclass
class Site:
    """A server on the loopback interface that answers as told, and remembers what it was asked."""

    port: int
    asked: list[str] = field(default_factory=list[str])
    looked_up: list[str] = field(default_factory=list[str])

    def rules(self, *, deadline_s: float = 3.0) -> FetchRules:
        hosts = frozenset({f"site.example:{self.port}"})
        return FetchRules(allowed_hosts=hosts, max_bytes=LIMIT, deadline_s=deadline_s, read_s=deadline_s)

    def fetcher(self, *answers: Sequence[str], deadline_s: float = 3.0) -> Fetcher:
        """Under rules that allow this site; each look-up is answered with the next of the answers, then the last."""
        return Fetcher(self.rules(deadline_s=deadline_s), resolve=self.resolver(*answers))

    def resolver(self, *answers: Sequence[str]) -> Resolve:
        left = list(answers or [["127.0.0.1"]])

        async def resolve(host: str, port: int) -> Sequence[str]:
            self.looked_up.append(host)
            return left.pop(0) if len(left) > 1 else left[0]

        return resolve

    def url(self, path: str = "/") -> str:
        return f"http://site.example:{self.port}{path}"


@asynccontextmanager
async def open_site(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncGenerator[Site]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            site.asked.append(head)
            await answer(head.split(" ")[1], writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    site = Site(server.sockets[0].getsockname()[1])
    async with server:
        yield site


def says(body: bytes, *headers: str, status: str = "200 OK", length: int | None = None) -> Answer:
    async def answer(_path: str, writer: asyncio.StreamWriter) -> None:
        size = len(body) if length is None else length
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {size}", "Connection: close", *headers, "", ""]
        writer.write("\r\n".join(lines).encode() + body)
        await writer.drain()

    return answer


def sends_on(where: Callable[[str], str]) -> Answer:
    async def answer(path: str, writer: asyncio.StreamWriter) -> None:
        await says(b"", f"Location: {where(path)}", status="302 Found")(path, writer)

    return answer


async def test_an_answer_comes_with_its_type_and_the_name_it_was_asked_under() -> None:
    async with open_site(says(b"hello", "Content-Type: text/plain; charset=utf-8")) as site:
        fetched = await site.fetcher().fetch(site.url("/a?b=c#d"))
    assert (fetched.body, fetched.status, fetched.content_type) == (b"hello", 200, "text/plain; charset=utf-8")
    assert (fetched.url, fetched.final_url) == (site.url("/a?b=c#d"), site.url("/a?b=c"))
    assert fetched.fetched_at.endswith("Z")
    head = site.asked[0].lower()
    assert head.startswith("get /a?b=c http/1.1")
    assert f"host: site.example:{site.port}\r\n" in head
    assert head.count("host:") == 1
    assert "cookie" not in head


async def test_a_name_is_looked_up_once_and_what_was_checked_is_connected_to() -> None:
    async with open_site(says(b"x")) as site:
        # The second answer would be another machine: a client that looks again would fail.
        await site.fetcher(["127.0.0.1"], ["192.0.2.1"]).fetch(site.url())
    assert site.looked_up == ["site.example"]


@requirement("ingest.url-rules")
async def test_a_name_whose_answer_turns_private_on_the_next_hop_is_refused() -> None:
    async with open_site(sends_on(lambda _path: "http://other.example/")) as site:
        with pytest.raises(FetchRefused, match="not a public address"):
            await site.fetcher(["127.0.0.1"], ["169.254.169.254"]).fetch(site.url())
    assert site.looked_up == ["site.example", "other.example"]


@requirement("ingest.url-rules")
async def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    fetcher = Fetcher(FetchRules(), resolve=Site(0).resolver(["93.184.216.34", "10.0.0.1"]))
    with pytest.raises(FetchRefused):
        await fetcher.fetch("http://mixed.example/")


@requirement("ingest.url-rules")
async def test_loopback_is_refused_without_an_entry_in_the_rules() -> None:
    async with open_site(says(b"secret")) as site:
        for url in (
            f"http://127.0.0.1:{site.port}/",
            f"http://localhost:{site.port}/",
            "http://127.0.0.1/",
            "http://[::1]/",
            "http://localhost/",
        ):
            with pytest.raises(FetchRefused):
                await Fetcher(FetchRules(), resolve=look_up).fetch(url)
    assert site.asked == []


async def test_an_allowed_network_may_be_reached() -> None:
    async with open_site(says(b"inside")) as site:
        rules = FetchRules(
            allowed_networks=[ip_network("127.0.0.0/8")], allowed_hosts=frozenset({f"127.0.0.1:{site.port}"})
        )
        assert (await Fetcher(rules).fetch(f"http://127.0.0.1:{site.port}/")).body == b"inside"


@requirement("ingest.url-rules")
async def test_when_the_first_address_is_silent_the_next_is_tried() -> None:
    async with open_site(says(b"second")) as site:
        assert (await site.fetcher(["127.9.9.9", "127.0.0.1"]).fetch(site.url())).body == b"second"


@requirement("ingest.url-rules")
async def test_a_few_redirects_are_followed_and_each_is_checked() -> None:
    async def answer(path: str, writer: asyncio.StreamWriter) -> None:
        left = int(path[1:])
        await (sends_on(lambda _path: f"/{left - 1}") if left else says(b"there"))(path, writer)

    async with open_site(answer) as site:
        fetched = await site.fetcher().fetch(site.url("/5"))
        assert (fetched.body, fetched.final_url) == (b"there", site.url("/0"))
        assert site.looked_up == ["site.example"] * 6
        with pytest.raises(FetchRefused, match="5 redirects"):
            await site.fetcher().fetch(site.url("/21"))


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1/",
        "http://169.254.169.254/latest/",
        "file:///etc/passwd",
        "http://[::]/",
        "http://0x7f.1/",
        "gopher://x/",
        "http://u:p@site.example/",
        "//site.example:22/",
        "http://[broken",
    ],
)
@requirement("ingest.url-rules")
async def test_redirects_to_forbidden_places_are_refused(location: str) -> None:
    async with open_site(sends_on(lambda _path: location)) as site:
        with pytest.raises(FetchRefused):
            await site.fetcher().fetch(site.url())
    assert len(site.asked) == 1


@requirement("ingest.url-rules")
async def test_a_redirect_to_itself_ends() -> None:
    async with open_site(sends_on(lambda path: path)) as site:
        with pytest.raises(FetchRefused, match="redirects"):
            await site.fetcher().fetch(site.url("/loop"))
    assert len(site.asked) == 6


@pytest.mark.parametrize("status", ["404 Not Found", "500 Oops", "401 Unauthorized", "304 Not Modified", "302 Found"])
async def test_an_answer_that_is_none_is_a_failure_with_its_status(status: str) -> None:
    async with open_site(says(b"no", status=status)) as site:
        with pytest.raises(FetchFailed) as failed:
            await site.fetcher().fetch(site.url())
    assert failed.value.facts["status"] == int(status[:3])
    assert len(site.asked) == 1


@requirement("ingest.url-rules")
async def test_ten_gigabytes_are_refused_by_their_declared_length() -> None:
    async with open_site(says(b"x" * 1000, length=10 * 1024**3)) as site:
        with pytest.raises(FetchRefused, match="more than"):
            await site.fetcher().fetch(site.url())


async def test_an_endless_body_is_cut_at_the_limit() -> None:
    async def answer(_path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"x" * 10_000)
            await writer.drain()

    async with open_site(answer) as site:
        with pytest.raises(FetchRefused, match="more than"):
            await site.fetcher().fetch(site.url())


async def test_a_declared_length_that_is_too_long_is_a_failure_and_too_short_is_obeyed() -> None:
    async with open_site(says(b"short", length=500)) as site:
        with pytest.raises(FetchFailed):
            await site.fetcher().fetch(site.url())
    async with open_site(says(b"hello and more", length=5)) as site:
        assert (await site.fetcher().fetch(site.url())).body == b"hello"


@pytest.mark.parametrize("junk", ["-5", "5, 6", "x", "9" * 400])
async def test_a_declared_length_that_is_no_length_is_a_failure(junk: str) -> None:
    async def answer(_path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {junk}\r\nConnection: close\r\n\r\nhello".encode())
        await writer.drain()

    async with open_site(answer) as site:
        with pytest.raises(FetchFailed):
            await site.fetcher().fetch(site.url())


async def test_a_body_that_drips_meets_the_deadline() -> None:
    async def answer(_path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with open_site(answer) as site:
        with pytest.raises(FetchFailed, match=r"within 0\.3 s"):
            await site.fetcher(deadline_s=0.3).fetch(site.url())


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\nX-A: ", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"])
async def test_silence_meets_the_deadline(head: bytes) -> None:
    async def answer(_path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        await writer.drain()
        await asyncio.Event().wait()

    async with open_site(answer) as site:
        with pytest.raises(FetchFailed):
            await site.fetcher(deadline_s=0.3).fetch(site.url())


async def test_a_look_up_that_hangs_meets_the_deadline() -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    with pytest.raises(FetchFailed):
        await Fetcher(FetchRules(deadline_s=0.2), resolve=resolve).fetch("http://slow.example/")


def packed(body: bytes, window: int) -> bytes:
    squeeze = zlib.compressobj(wbits=window)
    return squeeze.compress(body) + squeeze.flush()


@pytest.mark.parametrize(("name", "window"), [("gzip", 31), ("deflate", 15), ("GZIP", 31)])
async def test_packed_answers_are_unpacked(name: str, window: int) -> None:
    async with open_site(says(packed(b"hello " * 100, window), f"Content-Encoding: {name}")) as site:
        assert (await site.fetcher().fetch(site.url())).body == b"hello " * 100


async def test_a_gzip_bomb_is_stopped_at_the_limit_of_what_comes_out() -> None:
    bomb = packed(b"\0" * 20_000_000, 31)
    assert len(bomb) < LIMIT
    async with open_site(says(bomb, "Content-Encoding: gzip")) as site:
        with pytest.raises(FetchRefused, match="more than"):
            await site.fetcher().fetch(site.url())


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "zstd", "nonsense"])
async def test_packing_that_was_not_asked_for_is_a_failure(encoding: str) -> None:
    async with open_site(says(b"data", f"Content-Encoding: {encoding}")) as site:
        with pytest.raises(FetchFailed):
            await site.fetcher().fetch(site.url())


async def test_a_packed_answer_that_is_damaged_is_a_failure() -> None:
    async with open_site(says(b"not gzip", "Content-Encoding: gzip")) as site:
        with pytest.raises(FetchFailed):
            await site.fetcher().fetch(site.url())


@pytest.mark.parametrize("content_type", ["image/png", "video/mp4", "Audio/ogg"])
async def test_what_holds_no_text_is_not_loaded(content_type: str) -> None:
    async with open_site(says(b"x", f"Content-Type: {content_type}")) as site:
        with pytest.raises(FetchRefused):
            await site.fetcher().fetch(site.url())


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH\r\n",
        b"\0" * 100,
        b"HTTP/1.1 200\r\nbad header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * 300_000 + b"\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_a_failure(answer: bytes) -> None:
    async def reply(_path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    async with open_site(reply) as site:
        with pytest.raises(FetchFailed):
            await site.fetcher().fetch(site.url())


async def test_nobody_there_is_a_failure(free_port: int) -> None:
    with pytest.raises(FetchFailed):
        await Site(free_port).fetcher().fetch(Site(free_port).url())


async def test_an_unknown_name_is_a_failure() -> None:
    with pytest.raises(FetchFailed, match="not found"):
        await Fetcher(FetchRules()).fetch("http://no-such-host.invalid/")


async def test_a_lie_about_the_charset_still_gives_text() -> None:
    page = "<html><title>T</title><p>gr\u00fc\u00dfe".encode("latin-1")
    async with open_site(says(page, "Content-Type: text/html; charset=utf-8")) as site:
        fetched = await site.fetcher().fetch(site.url())
    assert read(fetched.body, fetched.final_url, declared=fetched.content_type).text == "gr\u00fc\u00dfe\n"


def a_certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's side and a client's side of a certificate for this name."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "both.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(cafile=str(file))


@requirement("ingest.url-rules")
async def test_over_tls_the_name_is_kept_for_the_certificate_though_the_address_is_pinned(tmp_path: Path) -> None:
    server, trust = a_certificate(tmp_path, "site.example")
    asked_for: list[str | None] = []
    server.sni_callback = lambda _socket, name, _context: asked_for.append(name)
    async with open_site(says(b"sealed"), server) as site:
        fetcher = Fetcher(site.rules(), resolve=site.resolver(["127.0.0.1"]), trust=trust)
        fetched = await fetcher.fetch(f"https://site.example:{site.port}/")
        assert fetched.body == b"sealed"
        assert asked_for == ["site.example"]
        with pytest.raises(FetchFailed):
            await site.fetcher().fetch(f"https://site.example:{site.port}/")


@requirement("ingest.url-rules")
async def test_a_certificate_for_another_name_is_refused(tmp_path: Path) -> None:
    server, trust = a_certificate(tmp_path, "other.example")
    async with open_site(says(b"sealed"), server) as site:
        fetcher = Fetcher(site.rules(), resolve=site.resolver(), trust=trust)
        with pytest.raises(FetchFailed):
            await fetcher.fetch(f"https://site.example:{site.port}/")
