"""How an upstream is reached: opens the channel that its entry in the settings describes."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from limen.config.model import ServerEntry
from limen.gateway.oauth.accounts import without_authorization
from limen.protocol.frames import FrameLimits
from limen.transport.authorizer import Authorizer
from limen.transport.channel import Channel
from limen.transport.cli.channel import open_cli
from limen.transport.cli.options import CliOptions
from limen.transport.http import open_http
from limen.transport.httpendpoint import HttpOptions
from limen.transport.legacysse import open_legacy_sse
from limen.transport.process import ChildCommand, open_child

__all__ = ["LIMITS", "open_channel"]

LIMITS: Final = FrameLimits(frame_bytes=64 << 20, string_bytes=64 << 20, depth=200)
"""What one message of an upstream may be; its results are kept and paged long before that."""


@asynccontextmanager
async def open_channel(
    entry: ServerEntry, environment: Mapping[str, str], auth: Authorizer | None
) -> AsyncGenerator[Channel]:
    """A channel to the server; `environment` is what every child gets before its own variables.

    Raises:
        Unreachable: it cannot be started.
    """
    env = {**environment, **entry.env}
    cwd = None if entry.cwd is None else Path(entry.cwd)
    if entry.url is not None:
        headers = entry.headers if auth is None else without_authorization(entry.headers)
        options = HttpOptions(headers=headers, limit_bytes=LIMITS.frame_bytes, auth=auth)
        opening = open_legacy_sse if entry.transport == "sse" else open_http
        async with opening(entry.url, options) as channel:
            yield channel
    elif entry.cli:
        async with open_cli(_cli_options(entry, env, cwd), LIMITS) as channel:
            yield channel
    else:
        command = ChildCommand([entry.command or "", *entry.args], env, cwd)
        async with open_child(command, LIMITS.frame_bytes) as channel:
            yield channel


def _cli_options(entry: ServerEntry, env: Mapping[str, str], cwd: Path | None) -> CliOptions:
    return CliOptions(
        command=entry.command or "",
        args=entry.args,
        env=env,
        cwd=cwd,
        help=entry.cli_help,
        depth=entry.cli_depth,
        only=entry.cli_only,
        timeout_s=entry.timeout_s,
    )
