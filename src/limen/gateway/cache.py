"""Definitions on disk, one file per upstream, known by a digest of how it is reached; secrets are no part of that."""

import logging
import os
from hashlib import sha256
from pathlib import Path

import msgspec

from limen.config.model import ServerEntry
from limen.gateway.definitions import Definitions
from limen.gateway.floor import Manner

__all__ = ["DefinitionCache", "Kept", "digest_of"]

log = logging.getLogger(__name__)

LAYOUT = 1


class Kept(msgspec.Struct, frozen=True):
    """What was known of an upstream when it was last heard."""

    digest: str
    definitions: Definitions
    manners: dict[str, Manner] = {}
    layout: int = LAYOUT


_decode = msgspec.json.Decoder(Kept).decode


def digest_of(entry: ServerEntry) -> str:
    """By what an upstream is known to be the same: how it is reached, without the values that may be secret."""
    said = (
        *(entry.command, *entry.args, "", entry.cwd, entry.url, entry.transport, entry.protocol),
        *sorted(entry.env),
        "",
        *sorted(entry.headers),
        *(entry.cli, entry.cli_help, entry.cli_depth, *entry.cli_only),
    )
    return sha256(msgspec.json.encode(said)).hexdigest()


class DefinitionCache:
    """A folder of what upstreams offered the last time. Losing it costs a start of each server, nothing more."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, server: str, digest: str) -> Kept | None:
        """What is known of a server that is still reached this way."""
        try:
            kept = _decode(self._file(server).read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError) as error:
            log.warning("cached definitions not used", extra={"server": server, "reason": str(error)})
            return None
        return kept if kept.digest == digest and kept.layout == LAYOUT else None

    def keep(self, server: str, kept: Kept) -> None:
        """Remember it, for the next start."""
        file = self._file(server)
        fresh = file.with_name(f"{file.name}.{os.getpid()}")
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh.write_bytes(msgspec.json.encode(kept))
            fresh.replace(file)
        except OSError as error:
            log.warning("definitions not cached", extra={"server": server, "reason": str(error)})

    def forget(self, server: str) -> None:
        """Forget a server."""
        self._file(server).unlink(missing_ok=True)

    def _file(self, server: str) -> Path:
        return self._folder / f"{server}.json"
