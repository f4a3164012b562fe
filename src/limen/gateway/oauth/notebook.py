"""What the SDK's sign-in reads and writes, in the SDK's own types; nothing here outlives the sign-in."""

from typing import TYPE_CHECKING, Any, Final

from limen.clock import now_ms
from limen.gateway.oauth.rules import SignInRules
from limen.gateway.oauth.tokens import Credential, Registration, Tokens

if TYPE_CHECKING:
    from mcp.client.auth.oauth2 import OAuthContext
    from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

__all__ = ["Notebook"]

_BASIC: Final = "client_secret_basic"


class Notebook:
    """The SDK's token storage for one sign-in; begins with what is held, ends with what was learned."""

    def __init__(self, held: Credential | None, rules: SignInRules, redirect_uri: str) -> None:
        self._held = held
        self._rules = rules
        self._redirect_uri = redirect_uri
        self._client: OAuthClientInformationFull | None = None
        self._tokens: OAuthToken | None = None

    @property
    def has_new_registration(self) -> bool:
        """Whether the sign-in registered a client."""
        return self._client is not None

    async def get_tokens(self) -> "OAuthToken | None":
        """The tokens held: the SDK takes from them what was granted before."""
        from mcp.shared.auth import OAuthToken  # over a second of pydantic, only for who signs in

        held = self._held.tokens if self._held else None
        return None if held is None else OAuthToken(access_token=held.access_token, scope=held.scope or None)

    async def set_tokens(self, tokens: "OAuthToken") -> None:
        """The tokens that were granted."""
        self._tokens = tokens

    async def get_client_info(self) -> "OAuthClientInformationFull | None":
        """The client that was registered before, where it still fits."""
        from mcp.shared.auth import OAuthClientInformationFull  # as above

        if self._rules.client is not None:
            known, issuer = self._rules.client, self._rules.issuer
        elif self._held is not None and self._held.registration is not None:
            known, issuer = self._held.registration, self._held.issuer
            if known.redirect_uri != self._redirect_uri or known.is_expired:
                return None
        else:
            return None
        fields: dict[str, Any] = {
            "client_id": known.client_id,
            "client_secret": known.client_secret,
            "redirect_uris": [self._redirect_uri],
            "token_endpoint_auth_method": known.auth_method or (_BASIC if known.client_secret else ""),
            "issuer": issuer,
        }
        return OAuthClientInformationFull.model_validate(fields)

    async def set_client_info(self, client_info: "OAuthClientInformationFull") -> None:
        """The client that was registered just now."""
        self._client = client_info

    def credential(self, server: str, context: "OAuthContext") -> Credential:
        """All that is known at the end of a sign-in, or at the point where it failed."""
        metadata = context.oauth_metadata
        issuer = str(metadata.issuer) if metadata else context.get_authorization_base_url(server)
        held = self._held if self._held and self._held.issuer == issuer else None
        endpoint = str(metadata.token_endpoint) if metadata else f"{context.get_authorization_base_url(server)}/token"
        has_resource = context.should_include_resource_param(context.protocol_version)
        return Credential(
            server=server,
            issuer=issuer,
            tokens=self._granted() or (held.tokens if held else None),
            registration=self._registered() or (held.registration if held else None),
            token_endpoint=endpoint,
            resource=context.get_resource_url() if has_resource else "",
        )

    def _granted(self) -> Tokens | None:
        told = self._tokens
        if told is None:
            return None
        lifetime_s = told.expires_in
        return Tokens(
            access_token=told.access_token,
            refresh_token=told.refresh_token or "",
            expires_at_ms=None if lifetime_s is None else now_ms() + lifetime_s * 1000,
            scope=told.scope or "",
        )

    def _registered(self) -> Registration | None:
        told = self._client
        if told is None:
            return self._rules.client
        return Registration(
            client_id=told.client_id,
            client_secret=told.client_secret or "",
            redirect_uri=self._redirect_uri,
            auth_method=told.token_endpoint_auth_method or "",
            secret_expires_at_s=told.client_secret_expires_at or 0,
        )
