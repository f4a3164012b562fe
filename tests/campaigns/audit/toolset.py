"""A tool that only looks and one that leaves an effect outside, so that effects can be held against the record."""

import asyncio
import os
from typing import Annotated

import msgspec
from msgspec import Meta

from limen.calls.call import Call
from limen.calls.changes import ChangeFeed
from limen.calls.ports import Provider
from limen.toolsets.provider import Reply, Tool, Toolset, text

EFFECTS = "LIMEN_CAMPAIGN_EFFECTS"
"""Names the file in which `change` leaves the id of its call."""


class Pause(msgspec.Struct, frozen=True):
    """Arguments of both tools."""

    pause_ms: Annotated[int, Meta(ge=0, le=1000)] = 0


def build(_: ChangeFeed) -> Provider:
    """Both tools; each answers with the id of its call."""
    # Unbuffered and appended: what was written outlives the process at once, like a real effect.
    effects = os.open(os.environ[EFFECTS], os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)

    async def look(args: Pause, call: Call) -> Reply:
        await asyncio.sleep(args.pause_ms / 1000)
        return Reply([text(call.id)])

    async def change(args: Pause, call: Call) -> Reply:
        os.write(effects, f"{call.id}\n".encode())
        await asyncio.sleep(args.pause_ms / 1000)
        return Reply([text(call.id)])

    return Toolset(
        "campaign",
        tools=[
            Tool("look", "Look, and change nothing.", Pause, look),
            Tool("change", "Leave an effect.", Pause, change, action="write", tier="write"),
        ],
    )
