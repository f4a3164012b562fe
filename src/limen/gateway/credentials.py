"""How requests to HTTP upstreams get their credentials: from their entry, else from what was saved when signing in."""

from collections.abc import Callable
from pathlib import Path

from limen.config.model import ServerEntry
from limen.gateway.oauth.accounts import Accounts
from limen.gateway.oauth.consent import Consent
from limen.gateway.oauth.stores import ChosenStore
from limen.transport.authorizer import Authorizer

__all__ = ["open_accounts", "saved_credentials"]


def open_accounts(folder: Path, consent: Consent | None = None) -> Accounts:
    """The accounts kept in a folder; a `consent` can ask a person to sign in."""
    return Accounts(ChosenStore(folder), folder, consent)


def saved_credentials(folder: Path, consent: Consent | None = None) -> Callable[[str, ServerEntry], Authorizer | None]:
    """Gives each server that is reached over HTTP its authorizer."""
    accounts = open_accounts(folder, consent)

    def authorizer(name: str, entry: ServerEntry) -> Authorizer | None:
        return None if entry.url is None else accounts.authorizer(name, entry.url, entry.headers)

    return authorizer
