"""How Limen may sign in at one upstream server: what a person settled before, outside of any discovery."""

from dataclasses import dataclass
from typing import Literal

from limen.gateway.oauth.tokens import Registration, normal_url

__all__ = ["Grant", "SignInRules", "Target"]

Grant = Literal["authorization_code", "client_credentials"]


@dataclass(frozen=True, slots=True)
class SignInRules:
    """What is known beforehand; by default nothing, and a person signs in through the browser."""

    client: Registration | None = None
    """A client that somebody registered by hand; its redirect URI, where given, is the one listened on."""
    issuer: str = ""
    """The authorization server that client belongs to; its secret goes nowhere else."""
    client_metadata_url: str = ""
    """An HTTPS address of a client id metadata document that describes this Limen."""
    grant: Grant = "authorization_code"
    """`client_credentials` needs no person, but a `client` with a secret and its `issuer`."""
    scope: str = ""
    """For `client_credentials`: what to ask for where the server names nothing."""


@dataclass(frozen=True, slots=True)
class Target:
    """One upstream server, as the configuration names it."""

    name: str
    url: str
    rules: SignInRules = SignInRules()

    @property
    def server(self) -> str:
        """The key of its credentials."""
        return normal_url(self.url)

    @property
    def fix(self) -> str:
        """The command that signs in there."""
        return f"limen mcp login {self.name}"
