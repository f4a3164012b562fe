"""What every door serves from: the road, the news, and how the hub introduces itself."""

from typing import Any

import msgspec

from limen import __version__
from limen.calls.changes import ChangeFeed
from limen.calls.pipeline import Pipeline
from limen.protocol.frames import DEFAULT_LIMITS, FrameLimits
from limen.protocol.versions import SERVED, Revision
from limen.server.seal import Seal

__all__ = ["Surface"]

INSTRUCTIONS = (
    "Limen is this person's hub: one memory and one gateway to their other MCP servers. "
    "Search before you assume; what you are shown is what you may use."
)


class Surface(msgspec.Struct, frozen=True):
    """Everything the doors share. Built once, in `app.py`."""

    pipeline: Pipeline
    changes: ChangeFeed
    seal: Seal
    versions: tuple[Revision, ...] = SERVED
    limits: FrameLimits = DEFAULT_LIMITS
    info: dict[str, Any] = msgspec.field(
        default_factory=lambda: {"name": "limen", "title": "Limen", "version": __version__}
    )
    instructions: str = INSTRUCTIONS
    ask_timeout_s: float = 300.0
    """How long a person or a client's model may take to answer a question."""

    @property
    def capabilities(self) -> dict[str, Any]:
        """What the hub can do, as both revisions declare it."""
        return {
            "tools": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "prompts": {"listChanged": True},
            "completions": {},
            "logging": {},
        }

    @property
    def info_json(self) -> bytes:
        """The server's own name tag, for `_meta`."""
        return msgspec.json.encode(self.info)
