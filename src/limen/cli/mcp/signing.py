"""`limen mcp login|logout`: sign in at a server that wants it, and forget that again. Shows no token."""

import asyncio
import sys
import webbrowser
from typing import Any

import typer

from limen.cli.invocation import Invocation
from limen.cli.loading import load_settings
from limen.cli.loop import run_async
from limen.cli.mcp.calls import ServerName
from limen.cli.mcp.keyboard import Keyboard
from limen.cli.mcp.reaching import check_usable
from limen.cli.parameters import AsJson, ConfigFile, begin
from limen.cli.printable import printable
from limen.config.load import Loaded
from limen.errors import InvalidArguments
from limen.gateway.credentials import open_accounts

__all__ = ["login", "logout"]


class TerminalConsent:
    """The person at the terminal, for signing in."""

    def __init__(self, invocation: Invocation) -> None:
        self._output = invocation.output
        self._environment = invocation.environment
        self._keyboard = Keyboard(invocation.output)

    async def show_url(self, url: str) -> None:
        """Print the address, for a browser on this machine or any that reaches it."""
        self._output.say("Sign in here:")
        self._output.say(f"  {printable(url)}")

    async def open_browser(self, url: str) -> None:
        """Open it, where there is a screen."""
        has_screen = self._environment.get("DISPLAY") or self._environment.get("WAYLAND_DISPLAY")
        if has_screen or sys.platform in {"darwin", "win32"}:
            await asyncio.to_thread(webbrowser.open, url)

    async def prompt_token(self, server: str, hint: str) -> str:
        """Ask for a token, unseen; none when nobody is there."""
        if not self._keyboard.is_there:
            return ""
        self._output.say(f"{printable(server)} offers no way to sign in, but takes a token. {printable(hint)}")
        return await self._keyboard.ask("Token (it is not shown):", is_secret=True) or ""


def login(context: typer.Context, server: ServerName, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Sign in at a server over HTTP.

    In the browser, or with a token. The tokens are kept in the keyring of this system, else in an encrypted file.
    """
    invocation = begin(context, config, as_json)
    loaded, url = _address(invocation, server)
    accounts = open_accounts(loaded.paths.state_dir / "oauth", TerminalConsent(invocation))
    run_async(accounts.login(server, url))
    _tell(invocation, {"server": server, "signed_in": True}, f"Signed in at {server}")


def logout(context: typer.Context, server: ServerName, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Forget the tokens of a server."""
    invocation = begin(context, config, as_json)
    loaded, url = _address(invocation, server)
    was_in = run_async(open_accounts(loaded.paths.state_dir / "oauth").logout(url))
    told = f"Signed out of {server}" if was_in else f"Nothing was kept for {server}"
    _tell(invocation, {"server": server, "signed_in": False, "was_signed_in": was_in}, told)


def _address(invocation: Invocation, server: str) -> tuple[Loaded, str]:
    loaded = load_settings(invocation)
    check_usable(loaded, server)
    url = loaded.settings.servers[server].url
    if url is None:
        raise InvalidArguments(f"{server} is a program on this machine: there is nowhere to sign in")
    return loaded, url


def _tell(invocation: Invocation, row: dict[str, Any], line: str) -> None:
    if invocation.output.is_json:
        invocation.output.data(row)
    else:
        invocation.output.say(printable(line))
