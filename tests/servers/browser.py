"""A person with a browser who agrees to everything, for tests that sign in; knows nothing of Limen."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx2


def _unchanged(url: str) -> str:
    return url


@dataclass(slots=True)
class AgreeablePerson:
    """Follows the address that is shown, with every redirect, to the page at its end."""

    token: str = ""
    """What is typed in when a token is asked for."""
    changing: Callable[[str], str] = _unchanged
    """Something between the address shown and the one visited."""
    visited: list[str] = field(default_factory=list[str])
    shown: list[str] = field(default_factory=list[str])
    pages: list[str] = field(default_factory=list[str])
    hints: list[str] = field(default_factory=list[str])

    async def show_url(self, url: str) -> None:
        """Remember it."""
        self.shown.append(url)

    async def open_browser(self, url: str) -> None:
        """Visit it, and wait for the last page."""
        self.visited.append(url)
        async with asyncio.timeout(20), httpx2.AsyncClient(follow_redirects=True, trust_env=False) as browser:
            page = await browser.get(self.changing(url))
        self.pages.append(page.text)

    async def prompt_token(self, server: str, hint: str) -> str:
        """Type it in."""
        self.hints.append(f"{server}: {hint}")
        return self.token
