"""Signing in at a guarded MCP server through a real authorization server, with and without a person at hand."""

import asyncio
import json
import logging
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import msgspec
import pytest

from limen.errors import AuthRequired, Unreachable
from limen.gateway.oauth.accounts import Accounts, without_authorization
from limen.gateway.oauth.callback import forwarding_hint
from limen.gateway.oauth.rules import SignInRules
from limen.gateway.oauth.tokens import Credential, Registration, Tokens, normal_url
from limen.gateway.oauth.vault import FileVault
from limen.protocol.frames import DEFAULT_LIMITS
from limen.protocol.versions import SESSION_REVISION
from limen.transport.client import open_client
from limen.transport.handshake import ClientProfile
from limen.transport.http import HttpOptions, open_http
from tests.contract.processes import run_together
from tests.requirements import requirement
from tests.servers.authority import Authority, authority
from tests.servers.browser import AgreeablePerson

# The first sign-in of a run pays for the SDK, over a second of imports.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]

DRIVER = "tests.contract.oauth_driver"


@pytest.fixture
def guarded() -> Iterator[Authority]:
    with authority() as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> FileVault:
    return FileVault(tmp_path)


@pytest.fixture
def person() -> AgreeablePerson:
    return AgreeablePerson()


@pytest.fixture
def alone(store: FileVault, tmp_path: Path) -> Accounts:
    """As `limen serve` has them: with nobody to ask."""
    return Accounts(store, tmp_path)


@pytest.fixture
def attended(store: FileVault, tmp_path: Path, person: AgreeablePerson) -> Accounts:
    """As a terminal has them."""
    return Accounts(store, tmp_path, person)


async def call(
    accounts: Accounts,
    guarded: Authority,
    tool: str = "whoami",
    *,
    headers: dict[str, str] | None = None,
    rules: SignInRules | None = None,
    times: int = 1,
) -> Any:
    """Call a tool of the guarded server, all but the last time at once, and read the last result."""
    auth = accounts.authorizer("guarded", guarded.url, headers or {}, rules)
    options = HttpOptions(without_authorization(headers or {}), DEFAULT_LIMITS.frame_bytes, auth=auth)
    async with (
        open_http(guarded.url, options) as channel,
        open_client(channel, ClientProfile("test", "1"), None, revisions=[SESSION_REVISION], timeout_s=20) as client,
    ):
        if times > 1:
            async with asyncio.TaskGroup() as group:
                for _ in range(times - 1):
                    group.create_task(client.call_tool(tool, b"{}"))
        return json.loads(await client.call_tool(tool, b"{}"))["content"][0]["text"]


def held(store: FileVault, guarded: Authority) -> Credential:
    found = store.find(normal_url(guarded.url))
    assert found is not None
    return found


def tokens_of(store: FileVault, guarded: Authority) -> Tokens:
    tokens = held(store, guarded).tokens
    assert tokens is not None
    return tokens


def expire(store: FileVault, guarded: Authority) -> None:
    """The saved access token has ended, and the clock knows."""
    ended = msgspec.structs.replace(tokens_of(store, guarded), expires_at_ms=1)
    store.put(msgspec.structs.replace(held(store, guarded), tokens=ended))
    guarded.end_all_access()


async def test_a_refusal_brings_a_person_who_signs_in_and_the_call_goes_through(
    guarded: Authority, attended: Accounts, store: FileVault, person: AgreeablePerson
) -> None:
    assert await call(attended, guarded) == "somebody with a token"
    [asked] = guarded.authorized
    assert asked["code_challenge_method"] == "S256"
    assert asked["resource"] == guarded.url
    assert asked["scope"] == "read"
    assert guarded.token_requests[0]["resource"] == guarded.url
    assert person.shown == person.visited
    assert "Back to Limen" in person.pages[0]
    saved = held(store, guarded)
    assert (saved.issuer, saved.token_endpoint, saved.resource) == (
        guarded.origin,
        f"{guarded.origin}/token",
        guarded.url,
    )
    assert saved.registration is not None
    assert saved.registration.redirect_uri == asked["redirect_uri"]
    assert guarded.carried[0] == ""
    assert set(guarded.carried[1:]) == {tokens_of(store, guarded).header}


async def test_what_was_saved_lets_the_next_one_in_without_a_person(
    guarded: Authority, attended: Accounts, alone: Accounts
) -> None:
    await attended.login("guarded", guarded.url)
    assert await call(alone, guarded) == "somebody with a token"
    assert len(guarded.authorized) == 1


@requirement("oauth.no-person")
async def test_without_a_person_the_call_fails_and_names_the_command(
    guarded: Authority, alone: Accounts, person: AgreeablePerson
) -> None:
    with pytest.raises(AuthRequired, match="`limen mcp login guarded`") as failure:
        await call(alone, guarded)
    assert failure.value.facts["fix"] == "limen mcp login guarded"
    assert failure.value.facts["status"] == 401
    assert not guarded.clients
    assert not guarded.authorized


async def test_somebody_who_signs_in_elsewhere_is_noticed_at_the_next_call(
    guarded: Authority, alone: Accounts, attended: Accounts
) -> None:
    auth = alone.authorizer("guarded", guarded.url, {})
    assert await auth.header() == ""
    await attended.login("guarded", guarded.url)
    options = HttpOptions({}, DEFAULT_LIMITS.frame_bytes, auth=auth)
    async with open_http(guarded.url, options) as channel:
        await channel.send(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    assert guarded.carried[-1].startswith("Bearer access-")


async def test_a_configured_header_wins_over_what_is_saved(
    guarded: Authority, attended: Accounts, store: FileVault
) -> None:
    await attended.login("guarded", guarded.url)
    configured = f"Bearer {guarded.issue('read')['access_token']}"
    await call(attended, guarded, headers={"AUTHORIZATION": configured})
    assert set(guarded.carried[1:]) == {configured}


async def test_a_configured_header_that_is_refused_is_named_and_nothing_else_is_tried(
    guarded: Authority, attended: Accounts
) -> None:
    with pytest.raises(AuthRequired, match=r"`servers\.guarded\.headers`"):
        await call(attended, guarded, headers={"Authorization": "Bearer wrong"})
    assert not guarded.authorized


@pytest.mark.parametrize("empty", ["", "Bearer", "Bearer ", "bearer  "])
async def test_a_configured_header_with_nothing_in_it_is_passed_over(
    guarded: Authority, attended: Accounts, empty: str
) -> None:
    await call(attended, guarded, headers={"Authorization": empty})
    assert len(guarded.authorized) == 1
    assert guarded.carried[0] == ""


@requirement("oauth.one-refresher")
async def test_many_callers_with_an_ended_token_make_one_refresh(
    guarded: Authority, attended: Accounts, alone: Accounts, store: FileVault
) -> None:
    await attended.login("guarded", guarded.url)
    guarded.end_all_access()
    assert await call(alone, guarded, times=13) == "somebody with a token"
    assert len(guarded.refreshes) == 1
    assert guarded.refreshes[0]["resource"] == guarded.url


@requirement("oauth.one-refresher")
@pytest.mark.slow
@pytest.mark.parametrize("is_known_to_have_ended", [True, False])
async def test_twelve_callers_in_several_processes_make_one_refresh_and_load_no_sdk(
    guarded: Authority, attended: Accounts, store: FileVault, tmp_path: Path, is_known_to_have_ended: bool
) -> None:
    await attended.login("guarded", guarded.url)
    if is_known_to_have_ended:
        expire(store, guarded)
    guarded.end_all_access()
    told = run_together(DRIVER, [["call", str(tmp_path), guarded.url, "3"]] * 4)
    assert [one["codes"] for one in told] == [["answered"] * 3] * 4
    assert [one["heavy"] for one in told] == [[]] * 4
    assert len(guarded.refreshes) == 1


@pytest.mark.parametrize("auth_method", ["client_secret_basic", "client_secret_post"])
async def test_a_refresh_without_a_new_refresh_token_keeps_the_old_one(
    guarded: Authority, attended: Accounts, alone: Accounts, store: FileVault, auth_method: str
) -> None:
    guarded.rotates, guarded.auth_method = False, auth_method
    await attended.login("guarded", guarded.url)
    first = tokens_of(store, guarded)
    for _ in range(2):
        expire(store, guarded)
        await call(alone, guarded)
    last = tokens_of(store, guarded)
    assert len(guarded.refreshes) == 2
    assert last.refresh_token == first.refresh_token
    assert last.access_token != first.access_token
    assert last.scope == first.scope


async def test_a_rotated_refresh_token_is_kept_for_the_next_time(
    guarded: Authority, attended: Accounts, alone: Accounts, store: FileVault
) -> None:
    await attended.login("guarded", guarded.url)
    for _ in range(3):
        expire(store, guarded)
        await call(alone, guarded)
    assert len({form["refresh_token"] for form in guarded.refreshes}) == 3


async def test_a_dead_refresh_token_asks_for_a_person_and_is_not_tried_again(
    guarded: Authority, attended: Accounts, alone: Accounts, store: FileVault
) -> None:
    await attended.login("guarded", guarded.url)
    guarded.refreshable.clear()
    expire(store, guarded)
    for _ in range(2):
        with pytest.raises(AuthRequired, match="limen mcp login"):
            await call(alone, guarded)
    assert len(guarded.refreshes) == 1
    assert await call(attended, guarded) == "somebody with a token"
    assert len(guarded.clients) == 1


async def test_an_authorization_server_in_trouble_costs_the_call_and_not_the_token(
    guarded: Authority, attended: Accounts, alone: Accounts, store: FileVault
) -> None:
    await attended.login("guarded", guarded.url)
    expire(store, guarded)
    guarded.refresh_status = 503
    with pytest.raises(Unreachable):
        await call(alone, guarded)
    guarded.refresh_status = 200
    assert await call(alone, guarded) == "somebody with a token"


async def test_a_caller_who_gives_up_does_not_lose_the_new_token(
    guarded: Authority, attended: Accounts, alone: Accounts, store: FileVault
) -> None:
    await attended.login("guarded", guarded.url)
    expire(store, guarded)
    ended = tokens_of(store, guarded).access_token
    auth = alone.authorizer("guarded", guarded.url, {})
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(auth.header())
        await asyncio.to_thread(guarded.refreshing.wait)
        asking.cancel()
    # The gate is the refresher's until it has saved; whoever comes next waits for it.
    assert await call(alone, guarded) == "somebody with a token"
    assert tokens_of(store, guarded).access_token != ended
    assert len(guarded.refreshes) == 1


async def test_a_registration_is_used_again_for_the_same_redirect_uri(guarded: Authority, attended: Accounts) -> None:
    await attended.login("guarded", guarded.url)
    await attended.login("guarded", guarded.url)
    assert len(guarded.clients) == 1
    assert len({asked["redirect_uri"] for asked in guarded.authorized}) == 1


async def test_a_registration_is_not_used_for_another_redirect_uri(
    guarded: Authority, attended: Accounts, store: FileVault
) -> None:
    await attended.login("guarded", guarded.url)
    taken = urlsplit(guarded.authorized[0]["redirect_uri"]).port
    with socket.socket() as squatter:
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        squatter.bind(("127.0.0.1", taken))
        squatter.listen()
        await attended.login("guarded", guarded.url)
    assert len(guarded.clients) == 2
    assert len({asked["redirect_uri"] for asked in guarded.authorized}) == 2
    registration = held(store, guarded).registration
    assert registration is not None
    assert registration.redirect_uri == guarded.authorized[-1]["redirect_uri"]


async def test_a_registration_of_a_sign_in_that_failed_is_used_by_the_next(
    guarded: Authority, attended: Accounts
) -> None:
    guarded.denies = True
    with pytest.raises(AuthRequired):
        await attended.login("guarded", guarded.url)
    guarded.denies = False
    await attended.login("guarded", guarded.url)
    assert len(guarded.clients) == 1


async def test_a_registration_that_the_server_forgot_is_made_anew_next_time(
    guarded: Authority, attended: Accounts
) -> None:
    await attended.login("guarded", guarded.url)
    guarded.clients["client-1"]["client_secret"] = "changed meanwhile"
    with pytest.raises(AuthRequired, match="invalid_client"):
        await attended.login("guarded", guarded.url)
    await attended.login("guarded", guarded.url)
    assert list(guarded.clients) == ["client-1", "client-2"]


async def test_a_client_registered_by_hand_is_used_as_it_is(guarded: Authority, attended: Accounts) -> None:
    redirect_uri = "http://127.0.0.1:8097/callback"
    guarded.has_registration = False
    guarded.clients["mine"] = {"client_id": "mine", "client_secret": "of/mine", "redirect_uris": [redirect_uri]}
    guarded.auth_method = "client_secret_post"
    client = Registration(
        client_id="mine", client_secret="of/mine", redirect_uri=redirect_uri, auth_method="client_secret_post"
    )
    rules = SignInRules(client=client, issuer=guarded.origin)
    assert await call(attended, guarded, rules=rules) == "somebody with a token"
    assert guarded.authorized[0]["client_id"] == "mine"


async def test_a_client_of_another_issuer_keeps_its_secret(guarded: Authority, attended: Accounts) -> None:
    client = Registration(client_id="mine", client_secret="of-mine")
    rules = SignInRules(client=client, issuer="https://elsewhere.example")
    await call(attended, guarded, rules=rules)
    assert guarded.authorized[0]["client_id"] != "mine"
    assert "of-mine" not in json.dumps(guarded.token_requests)


async def test_a_tool_that_wants_more_brings_one_more_sign_in_for_all_that_is_needed(
    guarded: Authority, attended: Accounts
) -> None:
    guarded.wider_scope_for = "change"
    assert await call(attended, guarded, tool="change") == "somebody with a token"
    assert [set(asked["scope"].split()) for asked in guarded.authorized] == [{"read"}, {"read", "write"}]


async def test_a_tool_that_wants_more_is_refused_where_nobody_can_give_it(
    guarded: Authority, attended: Accounts, alone: Accounts
) -> None:
    guarded.wider_scope_for = "change"
    await attended.login("guarded", guarded.url)
    with pytest.raises(AuthRequired, match="wider permission"):
        await call(alone, guarded, tool="change")
    assert await call(alone, guarded) == "somebody with a token"


async def test_a_server_that_refuses_its_own_tokens_is_not_asked_for_ever(
    guarded: Authority, attended: Accounts
) -> None:
    guarded.refuses_everything = True
    with pytest.raises(AuthRequired):
        await call(attended, guarded)
    assert len(guarded.authorized) == 1
    assert len(guarded.carried) <= 4


async def test_an_answer_from_another_issuer_gets_no_code(guarded: Authority, attended: Accounts) -> None:
    guarded.told_issuer = "https://evil.example"
    with pytest.raises(AuthRequired, match="iss"):
        await attended.login("guarded", guarded.url)
    assert not guarded.token_requests


async def test_a_server_that_calls_itself_another_gets_nothing(
    guarded: Authority, attended: Accounts, person: AgreeablePerson
) -> None:
    guarded.resource = "https://bank.example/mcp"
    with pytest.raises(AuthRequired, match="bank"):
        await attended.login("guarded", guarded.url)
    assert not person.visited


@pytest.mark.parametrize("methods", [[], ["plain"]])
async def test_without_pkce_nobody_is_sent_anywhere(
    guarded: Authority, attended: Accounts, person: AgreeablePerson, methods: list[str]
) -> None:
    guarded.code_challenge_methods = methods
    with pytest.raises(AuthRequired, match="S256"):
        await attended.login("guarded", guarded.url)
    assert not person.shown


class WaryPerson(AgreeablePerson):
    """Looks at the address and goes nowhere."""

    async def open_browser(self, url: str) -> None:
        """Remember it."""
        self.visited.append(url)
        raise AuthRequired("the person closed the browser")


@requirement("oauth.safe-addresses")
@pytest.mark.parametrize(
    "address",
    [
        "http://192.0.2.7/authorize",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "$(reboot)",
        "--help",
        "https://id.example/\r\nx: y",
    ],
)
async def test_a_person_is_never_sent_to_an_address_of_a_strange_kind(
    guarded: Authority, store: FileVault, tmp_path: Path, address: str
) -> None:
    guarded.authorization_endpoint, person = address, WaryPerson()
    with pytest.raises(AuthRequired):
        await Accounts(store, tmp_path, person).login("guarded", guarded.url)
    assert all(url.startswith((f"{guarded.origin}/authorize?", "https://id.example/")) for url in person.visited)


@requirement("oauth.safe-addresses")
async def test_a_code_is_not_sent_over_plain_http_to_somebody_else(guarded: Authority, attended: Accounts) -> None:
    guarded.token_endpoint = "http://192.0.2.7/token"
    with pytest.raises(AuthRequired, match="not HTTPS"):
        await attended.login("guarded", guarded.url)
    assert not guarded.token_requests


async def test_a_no_is_a_no_and_the_page_shows_it_as_text(
    guarded: Authority, attended: Accounts, person: AgreeablePerson
) -> None:
    guarded.denies = True
    with pytest.raises(AuthRequired, match="not <today>"):
        await attended.login("guarded", guarded.url)
    assert "not &lt;today&gt;" in person.pages[0]
    assert not person.hints


class BesetPerson(AgreeablePerson):
    """Has a browser in which other pages knock at the same port first."""

    knocks: list[int]

    async def open_browser(self, url: str) -> None:
        """Let them knock, then go the proper way."""
        asked = parse_qs(urlsplit(url).query)
        back, state = asked["redirect_uri"][0], asked["state"][0]
        async with httpx2.AsyncClient(trust_env=False) as other:
            answers = [
                await other.get(f"{back}?code=evil&state=guessed"),
                await other.get(f"{back}?code=evil"),
                await other.get(f"{back}?code=evil&state={state}", headers={"host": "evil.example"}),
                await other.post(f"{back}?code=evil&state={state}"),
                await other.get(back.replace("/callback", "/favicon.ico")),
            ]
        self.knocks = [answer.status_code for answer in answers]
        await super().open_browser(url)


async def test_only_the_expected_answer_ends_the_wait(guarded: Authority, store: FileVault, tmp_path: Path) -> None:
    person = BesetPerson()
    await Accounts(store, tmp_path, person).login("guarded", guarded.url)
    assert person.knocks == [400, 400, 404, 404, 404]
    assert [form.get("code") != "evil" for form in guarded.token_requests] == [True]


@pytest.mark.parametrize("has_metadata", [True, False])
async def test_where_nobody_can_register_a_token_is_typed_in(
    guarded: Authority, attended: Accounts, alone: Accounts, person: AgreeablePerson, has_metadata: bool
) -> None:
    guarded.has_registration, guarded.has_metadata = False, has_metadata
    person.token = f" {guarded.issue('read')['access_token']}\n"
    assert await call(attended, guarded) == "somebody with a token"
    assert len(person.hints) == 1
    assert person.hints[0].startswith("guarded: ")
    assert await call(alone, guarded) == "somebody with a token"


@pytest.mark.parametrize("typed", ["", "two words", "schlüssel"])
async def test_what_is_no_token_is_not_kept(
    guarded: Authority, attended: Accounts, person: AgreeablePerson, typed: str
) -> None:
    guarded.has_registration, person.token = False, typed
    with pytest.raises(AuthRequired):
        await attended.login("guarded", guarded.url)
    assert await attended.find(guarded.url) is None


async def test_signing_out_forgets_and_says_whether_there_was_anything(
    guarded: Authority, attended: Accounts, alone: Accounts
) -> None:
    await attended.login("guarded", guarded.url)
    assert await alone.logout(f"{guarded.url}/")
    assert not await alone.logout(guarded.url)
    with pytest.raises(AuthRequired):
        await call(alone, guarded)


def test_nothing_heavy_is_loaded_before_somebody_signs_in() -> None:
    heavy = {"mcp", "pydantic", "httpx2", "keyring", "cryptography"}
    code = f"import sys, limen.gateway.oauth.accounts, limen.gateway.oauth.stores; print({heavy} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_browser_elsewhere_is_told_how_to_reach_this_machine() -> None:
    hint = forwarding_hint("https://id.example/authorize?redirect_uri=http%3A%2F%2F127.0.0.1%3A8086%2Fcallback")
    assert "ssh -L 8086:127.0.0.1:8086" in hint
    assert forwarding_hint("https://id.example/authorize") == ""


@requirement("oauth.secrets")
async def test_nothing_secret_is_logged(
    guarded: Authority, attended: Accounts, store: FileVault, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        await attended.login("guarded", guarded.url)
        expire(store, guarded)
        await call(attended, guarded)
        guarded.refreshable.clear()
        expire(store, guarded)
        await call(attended, guarded)
    secrets = [word for form in guarded.token_requests for name, word in form.items() if name != "code"]
    secrets = [word for word in secrets if word.startswith(("access-", "refresh-", "secret-"))]
    secrets += [client["client_secret"] for client in guarded.clients.values()]
    secrets += [tokens_of(store, guarded).access_token, *guarded.refreshable]
    told = " ".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    assert len(secrets) >= 4
    assert not [word for word in secrets if word in told]
