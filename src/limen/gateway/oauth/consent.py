"""The port to the person who signs in; without one, whatever needs a person is refused."""

from typing import Protocol

__all__ = ["Consent"]


class Consent(Protocol):
    """Somebody at a terminal. Never implemented where stdin or stdout belong to a protocol."""

    async def show_url(self, url: str) -> None:
        """Print the address where the person signs in; always called, before the browser is."""
        ...

    async def open_browser(self, url: str) -> None:
        """Open the address, where there is a browser to open it in. The address was checked: it is http or https."""
        ...

    async def prompt_token(self, server: str, hint: str) -> str:
        """Ask for a token without showing it; empty when the person has none."""
        ...
