"""Takes up changes of the settings file while a hub runs: servers come, go and start anew; all else needs a restart."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from limen.config.load import load
from limen.gateway.access import GatewayAccess

__all__ = ["following_settings"]

log = logging.getLogger(__name__)

LOOK_EVERY_S: Final = 1.0

Stamp = tuple[int, int, int]


@asynccontextmanager
async def following_settings(
    upstreams: GatewayAccess, path: Path | None, env: Mapping[str, str], cwd: Path
) -> AsyncGenerator[None]:
    """Follow a settings file for as long as this is open; without one there is nothing to follow."""
    if path is None:
        yield
        return
    following = asyncio.get_running_loop().create_task(_follow(upstreams, path, env, cwd))
    try:
        yield
    finally:
        following.cancel()


async def _follow(upstreams: GatewayAccess, path: Path, env: Mapping[str, str], cwd: Path) -> None:
    seen = await asyncio.to_thread(_stamp, path)
    while True:
        # Looking costs microseconds; whoever edits a file waits no longer than this.
        await asyncio.sleep(LOOK_EVERY_S)
        now = await asyncio.to_thread(_stamp, path)
        if now in (seen, None):
            continue
        seen = now
        await _take_up(upstreams, path, env, cwd)


async def _take_up(upstreams: GatewayAccess, path: Path, env: Mapping[str, str], cwd: Path) -> None:
    loaded = await asyncio.to_thread(load, path, env, cwd)
    fatal = [str(problem) for problem in loaded.problems if problem.is_fatal]
    if fatal:
        log.error("settings not taken up, the old ones stay in force", extra={"problems": fatal})
        return
    for server, reason in loaded.disabled.items():
        log.warning("server not used", extra={"server": server, "reason": reason})
    await upstreams.arrange(loaded.settings.servers)
    if upstreams.gateway is not None:
        upstreams.gateway.learn()
    log.info("settings taken up", extra={"servers": len(loaded.settings.servers)})


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        # An editor may be replacing it right now.
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
