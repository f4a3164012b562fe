"""Attaches a client on stdio to a hub that runs already: bytes in, bytes out, and nothing of a hub in this process."""

import os
import socket
from pathlib import Path
from threading import Thread
from typing import Final

import msgspec

from limen import __version__
from limen.config.load import Loaded
from limen.config.model import Settings
from limen.server.nearby import SOCKET, Greeting, Welcome
from limen.transport.local import fits

__all__ = ["attach"]

PATIENCE_S: Final = 2.0
_PIECE: Final = 1 << 16


def attach(settings: Settings, loaded: Loaded) -> bool:
    """Pass the client on to a running hub that is the same as this one would be; False when there is none."""
    path = loaded.paths.runtime_dir / SOCKET
    if not fits(path) or not path.exists():
        return False
    greeting = Greeting(__version__, settings.tier, list(settings.toolsets), settings_name(loaded.path))
    with socket.socket(socket.AF_UNIX) as hub:
        if not _is_welcome(hub, path, greeting):
            return False
        hub.settimeout(None)
        # A client may close its end and still read; a hub may end while the client is silent.
        Thread(target=_pass_on, args=(hub,), daemon=True).start()
        while piece := hub.recv(_PIECE):
            _write(piece)
    return True


def settings_name(path: Path | None) -> str:
    """By what two processes know that they mean the same settings."""
    return "" if path is None else str(path.resolve())


def _is_welcome(hub: socket.socket, path: Path, greeting: Greeting) -> bool:
    hub.settimeout(PATIENCE_S)
    try:
        hub.connect(str(path))
        hub.sendall(msgspec.json.encode(greeting) + b"\n")
        answer = b""
        while not answer.endswith(b"\n"):
            # One byte at a time: what follows the line is the client's.
            byte = hub.recv(1)
            if not byte:
                return False
            answer += byte
        return msgspec.json.decode(answer, type=Welcome).is_served
    except (OSError, msgspec.DecodeError):
        # Nobody is there, or somebody else: this process is the hub then.
        return False


def _pass_on(hub: socket.socket) -> None:
    try:
        while piece := os.read(0, _PIECE):
            hub.sendall(piece)
        hub.shutdown(socket.SHUT_WR)
    except OSError:
        return


def _write(piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:
        rest = rest[os.write(1, rest) :]
