"""What an upstream's capabilities are called here: `server__name`, never longer than clients allow, never ambiguous."""

import re
from base64 import b32encode
from hashlib import sha256
from typing import Final

__all__ = ["LONGEST", "SEPARATOR", "exposed_name", "exposed_uri", "server_of"]

LONGEST: Final = 64
"""Characters of a tool's or prompt's name that every client takes."""
SEPARATOR: Final = "__"
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.-]+")
_OTHER: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_DIGEST_CHARS: Final = 8


def exposed_name(server: str, name: str) -> str:
    """The name of a tool or prompt here: the same for the same one, and of no other one.

    One that is too long or that clients would refuse is shortened and ends with a digest of the whole. No server's
    name holds the separator, so what stands before the first is always the server.
    """
    whole = f"{server}{SEPARATOR}{name}"
    if len(whole) <= LONGEST and _PLAIN.fullmatch(name):
        return whole
    digest = b32encode(sha256(whole.encode()).digest()).decode()[:_DIGEST_CHARS].lower()
    room = LONGEST - len(server) - len(SEPARATOR) - _DIGEST_CHARS - 1
    kept = _OTHER.sub("_", name)[:room].rstrip("_")
    return f"{server}{SEPARATOR}{kept}-{digest}" if kept else f"{server}{SEPARATOR}{digest}"


def exposed_uri(server: str, uri: str) -> str:
    """The URI of a resource, or the pattern of a template, here."""
    return f"{server}{SEPARATOR}{uri}"


def server_of(name: str) -> str | None:
    """The server that a prefixed name or URI names; None when it names none."""
    server, separator, rest = name.partition(SEPARATOR)
    return server if separator and rest else None
