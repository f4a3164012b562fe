"""Waits on the loopback interface for the browser to come back from signing in; takes one answer and closes."""

import asyncio
import html
import secrets
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs, urlsplit

from limen.errors import AuthRequired, Unreachable

__all__ = ["Callback", "Return", "forwarding_hint", "open_callback"]

HOST: Final = "127.0.0.1"
PATH: Final = "/callback"
PORTS: Final = range(8085, 8100)
SIGN_IN_S: Final = 300.0
"""How long a person has."""
_HEAD_BYTES: Final = 16 * 1024
_HEAD_S: Final = 10.0

_PAGE: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Limen</title>'
    "<style>body{{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem}}</style>"
    "<h1>{title}</h1><p>{text}</p></html>"
)


@dataclass(frozen=True, slots=True)
class Return:
    """What the authorization server sent back with the browser."""

    code: str
    state: str
    iss: str | None

    def __repr__(self) -> str:
        """The code is as good as a token for a minute."""
        return f"Return(iss={self.iss!r})"


@asynccontextmanager
async def open_callback(preferred_uri: str = "") -> AsyncGenerator["Callback"]:
    """Listen for the browser, where an earlier registration promised it if that place is free.

    Raises:
        Unreachable: this machine has no free port.
    """
    listening = _listen(preferred_uri)
    port = int(listening.getsockname()[1])
    callback = Callback(f"http://{HOST}:{port}{PATH}")
    server = await asyncio.start_server(callback.serve, sock=listening, limit=_HEAD_BYTES)
    try:
        yield callback
    finally:
        server.close()
        await server.wait_closed()


def forwarding_hint(url: str) -> str:
    """For a browser on another machine than Limen: how its answer finds the way back."""
    back = parse_qs(urlsplit(url).query).get("redirect_uri", [""])[0]
    port = urlsplit(back).port
    return f"Browser on another machine? Forward its port first: ssh -L {port}:{HOST}:{port} HOST" if port else ""


def _listen(preferred_uri: str) -> socket.socket:
    preferred = urlsplit(preferred_uri)
    first = [preferred.port] if preferred.hostname == HOST and preferred.path == PATH and preferred.port else []
    for port in (*first, *PORTS, 0):
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((HOST, port))
            listening.listen(8)
            listening.settimeout(0)
        except OSError:
            listening.close()
        else:
            return listening
    raise Unreachable("no free port on the loopback interface for the browser to return to")


class Callback:
    """The place a browser returns to."""

    def __init__(self, redirect_uri: str) -> None:
        self.redirect_uri = redirect_uri
        self._state = ""
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

    def expect(self, state: str) -> None:
        """From now on take the answer that carries this state, and no other."""
        self._state = state

    async def wait(self, *, timeout_s: float = SIGN_IN_S) -> Return:
        """What the browser brings.

        Raises:
            AuthRequired: nobody came in time, or the authorization server said no.
        """
        try:
            async with asyncio.timeout(timeout_s):
                told = await self._answer
        except TimeoutError:
            raise AuthRequired(f"nobody signed in within {timeout_s:g} s; try again") from None
        if "code" not in told:
            reason = told.get("error_description") or told.get("error") or "no reason given"
            raise AuthRequired(f"the authorization server refused: {reason[:300]}", error=told.get("error", ""))
        return Return(told["code"], told["state"], told.get("iss"))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection; anything but the expected answer changes nothing."""
        try:
            with suppress(TimeoutError, ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                async with asyncio.timeout(_HEAD_S):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(self._respond(head.decode("latin-1")))
                    await writer.drain()
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    def _respond(self, head: str) -> bytes:
        request, *lines = head.split("\r\n")
        verb, _, target = request.partition(" ")
        fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        asked = urlsplit(target.partition(" ")[0])
        # Another name for this address is a page trying to reach us through its own domain.
        if verb != "GET" or asked.path != PATH or fields.get("host") != urlsplit(self.redirect_uri).netloc:
            return _page(404, "Nothing here", "Limen waits here for a sign-in to finish.")
        told = {name: values[0] for name, values in parse_qs(asked.query, max_num_fields=20).items()}
        is_ours = bool(self._state) and secrets.compare_digest(told.get("state", "").encode(), self._state.encode())
        if not is_ours or self._answer.done():
            return _page(400, "Not expected", "This is not the answer Limen is waiting for. Start the sign-in again.")
        self._answer.set_result(told)
        if "code" not in told:
            reason = told.get("error_description") or told.get("error") or "no reason given"
            return _page(200, "Not signed in", f"The service said: {reason[:300]}")
        return _page(
            200, "Back to Limen", "Your answer has arrived. You can close this page; the terminal has the rest."
        )


def _page(status: int, title: str, text: str) -> bytes:
    body = _PAGE.format(title=html.escape(title), text=html.escape(text)).encode()
    head = (
        f"HTTP/1.1 {status} Limen\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {len(body)}\r\n"
        "content-security-policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'\r\n"
        "cache-control: no-store\r\nreferrer-policy: no-referrer\r\nx-content-type-options: nosniff\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode() + body
