"""A toolset with one tool that says back what it was told."""

import msgspec

from limen.calls.call import Call
from limen.calls.changes import ChangeFeed
from limen.toolsets.provider import Reply, Tool, Toolset, text


class EchoArgs(msgspec.Struct, frozen=True):
    """Arguments of `echo`."""

    text: str


async def echo(args: EchoArgs, call: Call) -> Reply:
    """Say it back."""
    return Reply([text(args.text)])


def toolset(changes: ChangeFeed) -> Toolset:
    """The toolset, as the hub loads it."""
    return Toolset("bench", tools=[Tool("echo", "Say it back.", EchoArgs, echo)])
