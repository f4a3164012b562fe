"""What holds for every brain of a hub, out of its settings."""

from pathlib import Path
from typing import Literal

from msgspec import Struct

__all__ = ["BrainRules"]


class BrainRules(Struct, frozen=True, kw_only=True):
    """What tools may reach from a brain, and how it is kept."""

    default: str = ""
    """The brain that is meant when none is named; the oldest one when this is empty."""
    embedder: Literal["wordllama", "minilm", "none"] = "wordllama"
    """The model that turns passages into vectors."""
    file_roots: tuple[Path, ...] = ()
    """Where tools may read files from."""
    fetch_hosts: tuple[str, ...] = ()
    """Private hosts (with or without a port) and networks that may be fetched from all the same."""
    watches: bool = False
    """Whether edits made by other programs are noticed at once."""
