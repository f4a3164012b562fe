"""One sign-in at an upstream server, by the official SDK's OAuth client; decides nothing about when.

The SDK discovers, registers and checks (RFC 9728, 8414, 7591, 7636, 8707, 9207). Its requests are sent from here, so
that they are bounded and go nowhere they must not; the browser's return is taken by our own listener.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

import msgspec

from limen import __version__
from limen.errors import AuthRequired, LimenError
from limen.gateway.oauth.callback import Callback, open_callback
from limen.gateway.oauth.consent import Consent
from limen.gateway.oauth.courier import Courier, check_address, open_courier
from limen.gateway.oauth.notebook import Notebook
from limen.gateway.oauth.rules import Target
from limen.gateway.oauth.tokens import Credential
from limen.redact import redact_text
from limen.transport.authorizer import Challenge

if TYPE_CHECKING:
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import AuthorizationCodeResult

__all__ = ["NoRegistration", "SignedIn", "sign_in", "sign_in_as_machine"]

log = logging.getLogger(__name__)

_REVISION: Final = "2025-11-25"
"""What discovery is told that we speak; from 2025-06-18 on, tokens are bound to a resource."""
_REASON_CHARS: Final = 300
_STRANGER: Final = "invalid_client"
"""What an authorization server says of a client it no longer knows."""

Save = Callable[[Credential], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class SignedIn:
    """The person agreed and the server issued tokens; they are saved."""

    credential: Credential


@dataclass(frozen=True, slots=True)
class NoRegistration:
    """The server has no authorization server that would know us; a token by hand may still do."""

    reason: str


async def sign_in(
    target: Target, held: Credential | None, challenge: Challenge, consent: Consent, save: Save
) -> SignedIn | NoRegistration:
    """Have a person sign in through a browser.

    Raises:
        AuthRequired: it came to nothing; the message says why.
        Unreachable: somebody who had to be asked did not answer.
    """
    known = target.rules.client or (held.registration if held else None)
    async with open_callback(known.redirect_uri if known else "") as callback:
        notebook = Notebook(held, target.rules, callback.redirect_uri)
        provider = _provider(target, notebook, callback, consent)
        return await _run(target, provider, notebook, challenge, save)


async def sign_in_as_machine(target: Target, held: Credential | None, challenge: Challenge, save: Save) -> SignedIn:
    """Sign in with a client's own secret, without a person.

    Raises:
        AuthRequired: the authorization server says no.
        Unreachable: somebody who had to be asked did not answer.
    """
    from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider  # heavy

    client = target.rules.client
    if client is None or not client.client_secret or not target.rules.issuer:
        raise AuthRequired(f"{target.name}: `client_credentials` needs a client id, its secret and the issuer")
    notebook = Notebook(held, target.rules, "")
    provider = ClientCredentialsOAuthProvider(
        target.url,
        notebook,
        client.client_id,
        client.client_secret,
        "client_secret_post" if client.auth_method == "client_secret_post" else "client_secret_basic",
        target.rules.scope or None,
        target.rules.issuer,
    )
    done = await _run(target, provider, notebook, challenge, save)
    if isinstance(done, NoRegistration):
        raise AuthRequired(f"{target.name}: {done.reason}", server=target.name)
    return done


def _provider(target: Target, notebook: Notebook, callback: Callback, consent: Consent) -> "OAuthClientProvider":
    # Over a second of CPU, so only for those who sign in.
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

    async def ask(url: str) -> None:
        _check_page(url, provider, target)
        callback.expect(parse_qs(urlsplit(url).query)["state"][0])
        await consent.show_url(url)
        await consent.open_browser(url)

    async def take() -> "AuthorizationCodeResult":
        back = await callback.wait()
        return AuthorizationCodeResult(code=back.code, state=back.state, iss=back.iss)

    described = {
        "client_name": "Limen",
        "software_id": "limen",
        "software_version": __version__,
        "redirect_uris": [callback.redirect_uri],
    }
    provider = OAuthClientProvider(
        target.url,
        OAuthClientMetadata.model_validate(described),
        notebook,
        ask,
        take,
        target.rules.client_metadata_url or None,
    )
    return provider


def _check_page(url: str, provider: "OAuthClientProvider", target: Target) -> None:
    """Refuse to send a person where the exchange would not be protected.

    Raises:
        AuthRequired: the page is not HTTPS, or its server does not promise PKCE with S256.
    """
    check_address(url, target.url)
    metadata = provider.context.oauth_metadata
    if metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or ()):
        raise AuthRequired(
            f"the authorization server of {target.name} does not offer PKCE with S256, which MCP requires",
            issuer=str(metadata.issuer),
        )


async def _run(
    target: Target, provider: "OAuthClientProvider", notebook: Notebook, challenge: Challenge, save: Save
) -> SignedIn | NoRegistration:
    from mcp.client.auth import OAuthFlowError, OAuthRegistrationError  # loaded with the provider

    # It logs failures with all that a server answered; ours are raised, with secrets masked.
    logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL + 1)
    try:
        async with open_courier(target.url) as courier:
            await _drive(provider, target.url, challenge, courier)
    except OAuthRegistrationError as error:
        return NoRegistration(_reason(error))
    except (OAuthFlowError, ValueError) as error:
        await _keep_registration(target, provider, notebook, save, is_known=_STRANGER not in str(error))
        raise AuthRequired(f"signing in at {target.name} failed: {_reason(error)}", server=target.name) from error
    except LimenError:
        await _keep_registration(target, provider, notebook, save, is_known=True)
        raise
    credential = notebook.credential(target.server, provider.context)
    await save(credential)
    return SignedIn(credential)


async def _keep_registration(
    target: Target, provider: "OAuthClientProvider", notebook: Notebook, save: Save, *, is_known: bool
) -> None:
    """Spare the next sign-in its registration, or spare it one that is no longer known."""
    credential = notebook.credential(target.server, provider.context)
    if not is_known:
        await save(msgspec.structs.replace(credential, registration=None))
    elif notebook.has_new_registration:
        await save(credential)


async def _drive(provider: "OAuthClientProvider", url: str, challenge: Challenge, courier: Courier) -> None:
    """Play the refused request to the SDK, send what it wants sent, and stop where it would try again."""
    import httpx2  # loaded with the provider

    refused = httpx2.Request("POST", url, headers={"mcp-protocol-version": _REVISION})
    headers = {"www-authenticate": challenge.www_authenticate} if challenge.www_authenticate else {}
    response = httpx2.Response(challenge.status, headers=headers, request=refused)
    flow: AsyncGenerator[httpx2.Request, httpx2.Response] = provider.async_auth_flow(refused)
    async with aclosing(flow):
        await anext(flow)
        while (wanted := await flow.asend(response)) is not refused:
            response = await courier.send(wanted)


def _reason(error: Exception) -> str:
    return redact_text(str(error))[:_REASON_CHARS]
