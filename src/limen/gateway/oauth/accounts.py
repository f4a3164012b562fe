"""Limen's accounts at upstream servers: the order in which a request finds its credentials, signing in and out.

A configured header wins; then what is saved, refreshed when it has ended; then OAuth; then a token typed in by hand.
The last two need a person, and where there is none the call fails and names the command that brings one.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeVar, assert_never

from limen.errors import AuthRequired, StoreUnavailable, UpstreamError
from limen.gateway.oauth.consent import Consent
from limen.gateway.oauth.courier import open_courier
from limen.gateway.oauth.flow import NoRegistration, SignedIn, sign_in, sign_in_as_machine
from limen.gateway.oauth.gate import open_gate
from limen.gateway.oauth.hints import hint_for
from limen.gateway.oauth.refreshing import PATIENCE_S, refresh
from limen.gateway.oauth.rules import SignInRules, Target
from limen.gateway.oauth.tokens import Credential, Tokens, TokenStore, normal_url
from limen.transport.authorizer import Authorizer, Challenge, read_challenge

__all__ = ["Accounts", "without_authorization"]

log = logging.getLogger(__name__)

_AUTHORIZATION: Final = "authorization"
_SCHEMES: Final = frozenset({"basic", "bearer", "token"})
T = TypeVar("T")
_PROBE: Final = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def without_authorization(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that stay in a channel's options when an authorizer sees to the Authorization header."""
    return {name: value for name, value in headers.items() if name.lower() != _AUTHORIZATION}


def _configured(headers: Mapping[str, str]) -> str:
    """The configured Authorization header; empty when there is nothing behind its scheme, as with an unset variable."""
    value = next((value.strip() for name, value in headers.items() if name.lower() == _AUTHORIZATION), "")
    return "" if value.lower() in _SCHEMES else value


class Accounts:
    """Every account of this user. `folder` holds the locks that let one process at a time refresh."""

    def __init__(self, store: TokenStore, folder: Path, consent: Consent | None = None) -> None:
        self.store = store
        self.consent = consent
        self._folder = folder

    def authorizer(
        self, name: str, url: str, headers: Mapping[str, str], rules: SignInRules | None = None
    ) -> Authorizer:
        """What gives requests to the server `name` at `url` their Authorization header."""
        configured = _configured(headers)
        if configured:
            return ConfiguredHeader(name, configured)
        return Account(self, Target(name, url, rules or SignInRules()))

    async def find(self, url: str) -> Credential | None:
        """What is held for a server."""
        return await asyncio.to_thread(self.store.find, normal_url(url))

    async def login(self, name: str, url: str, rules: SignInRules | None = None) -> Credential:
        """Sign in anew, whatever is held.

        Raises:
            AuthRequired: it came to nothing; the message says why.
            Unreachable: the server, or who issues its tokens, does not answer.
        """
        target = Target(name, url, rules or SignInRules())
        held = await self.find(url)
        return await self.sign_in(target, held, await _ask_for_challenge(url))

    async def logout(self, url: str) -> bool:
        """Forget all that is held for a server; whether there was anything."""
        return await asyncio.to_thread(self._change, normal_url(url), self.store.forget)

    async def sign_in(self, target: Target, held: Credential | None, challenge: Challenge) -> Credential:
        """Sign in by OAuth, else by hand.

        Raises:
            AuthRequired: it came to nothing, or there is nobody to ask.
            Unreachable: somebody who had to be asked did not answer.
        """
        if target.rules.grant == "client_credentials":
            return (await sign_in_as_machine(target, held, challenge, self._save)).credential
        if self.consent is None:
            raise _needs_person(target, challenge)
        done = await sign_in(target, held, challenge, self.consent, self._save)
        match done:
            case SignedIn(credential=credential):
                return credential
            case NoRegistration(reason=reason):
                return await self._ask_for_token(target, self.consent, reason)
            case _:
                assert_never(done)

    async def refresh(self, target: Target, stale: str) -> Credential | None:
        """The tokens that follow the stale one; None when only signing in helps."""
        return await asyncio.to_thread(refresh, self.store, target.server, stale, self.gate(target.server))

    def gate(self, server: str) -> Path:
        """The lock under which one server's tokens change."""
        return self._folder / "refresh" / hashlib.sha256(server.encode()).hexdigest()[:32]

    async def _ask_for_token(self, target: Target, consent: Consent, reason: str) -> Credential:
        log.info("no sign-in by browser here", extra={"server": target.name, "reason": reason})
        token = (await consent.prompt_token(target.name, hint_for(target.url))).strip()
        if not token:
            raise AuthRequired(f"{target.name} offers no sign-in ({reason}), and no token was given")
        if not token.isascii() or not token.isprintable() or " " in token:
            raise AuthRequired("that is no token: it must be one word of plain ASCII")
        credential = Credential(server=target.server, tokens=Tokens(access_token=token))
        await self._save(credential)
        return credential

    async def _save(self, credential: Credential) -> None:
        await asyncio.to_thread(self._change, credential.server, lambda _: self.store.put(credential))

    def _change(self, server: str, change: Callable[[str], T]) -> T:
        # A refresh on its way would otherwise put back what it began with.
        with open_gate(self.gate(server), patience_s=PATIENCE_S):
            return change(server)


def _needs_person(target: Target, challenge: Challenge) -> AuthRequired:
    what = "wants a wider permission" if challenge.wants_scope else "wants you to sign in"
    return AuthRequired(
        f"{target.name} {what}; run `{target.fix}`",
        server=target.name,
        fix=target.fix,
        status=challenge.status,
        www_authenticate=challenge.www_authenticate,
    )


async def _ask_for_challenge(url: str) -> Challenge:
    """What the server says to a stranger; a bare refusal where it lets strangers in so far."""
    import httpx2  # only who signs in pays

    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    async with open_courier(url) as courier:
        status, told = await courier.look(httpx2.Request("POST", url, headers=headers, content=_PROBE))
    found = read_challenge(status, told, "")
    return found if found is not None and not found.wants_scope else Challenge(401, "")


class ConfiguredHeader:
    """An Authorization header from the configuration; nothing else is tried when it is refused."""

    def __init__(self, name: str, value: str) -> None:
        self._name = name
        self._value = value

    async def header(self) -> str:
        """The configured value."""
        return self._value

    async def renew(self, challenge: Challenge) -> str:
        """There is no other."""
        raise AuthRequired(
            f"{self._name} refuses the configured Authorization header; correct it in `servers.{self._name}.headers`,"
            " or remove it to sign in",
            server=self._name,
            status=challenge.status,
            www_authenticate=challenge.www_authenticate,
        )


class Account:
    """One upstream server's tokens, as its channel uses them."""

    def __init__(self, accounts: Accounts, target: Target) -> None:
        self._accounts = accounts
        self._target = target
        self._held: Credential | None = None
        self._is_loaded = False
        self._untried = ""
        """The token of a sign-in just made, until a request is begun with it."""
        self._turn = asyncio.Lock()

    async def header(self) -> str:
        """The saved token, refreshed if it has ended; empty without one, and the server may say what it wants."""
        self._untried = ""
        if not self._is_loaded:
            await self._load()
        tokens = self._held.tokens if self._held else None
        if tokens is None or tokens.is_valid:
            return tokens.header if tokens else ""
        async with self._turn:
            return await self._follow(tokens) or ""

    async def renew(self, challenge: Challenge) -> str:
        """A token that another process got meanwhile, else a refreshed one, else that of a new sign-in."""
        # One at a time: the others come in after the first is done, and take what it got.
        async with self._turn:
            self._held = await self._accounts.find(self._target.url)
            tokens = self._held.tokens if self._held else None
            if tokens is not None and tokens.is_valid and tokens.header != challenge.sent:
                return tokens.header
            if challenge.wants_scope:
                self._refuse_what_is_granted(tokens, challenge)
            elif tokens is not None and (renewed := await self._follow(tokens)) is not None:
                return renewed
            if challenge.sent and challenge.sent == self._untried:
                raise AuthRequired(f"{self._target.name} refuses the token it just issued", server=self._target.name)
            return await self._sign_in(challenge)

    async def _load(self) -> None:
        try:
            self._held = await self._accounts.find(self._target.url)
        except StoreUnavailable as error:
            # Most servers let strangers in, or say so themselves when they do not.
            log.warning("saved tokens not readable", extra={"server": self._target.name, "reason": str(error)})
        else:
            self._is_loaded = True

    async def _follow(self, tokens: Tokens) -> str | None:
        """The header with tokens that follow these; None when a person is needed."""
        try:
            renewed = await self._accounts.refresh(self._target, tokens.access_token)
        except UpstreamError as error:
            log.warning("refresh failed", extra={"server": self._target.name, "reason": str(error)})
            return None
        # What is left without a refresh still knows our registration.
        self._held = renewed or await self._accounts.find(self._target.url)
        return renewed.tokens.header if renewed and renewed.tokens else None

    async def _sign_in(self, challenge: Challenge) -> str:
        self._held = await self._accounts.sign_in(self._target, self._held, challenge)
        assert self._held.tokens is not None
        self._untried = self._held.tokens.header
        return self._untried

    def _refuse_what_is_granted(self, tokens: Tokens | None, challenge: Challenge) -> None:
        granted = frozenset(tokens.scope.split()) if tokens else frozenset[str]()
        if challenge.scopes and challenge.scopes <= granted:
            raise AuthRequired(
                f"{self._target.name} wants {' '.join(sorted(challenge.scopes))}, which this account already has",
                server=self._target.name,
            )
