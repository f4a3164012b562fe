"""A house whose only provider is a gateway to real servers of `tests/servers`, which may leave nothing behind."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limen.calls.changes import ChangeFeed
from limen.config.model import ServerEntry
from limen.gateway.gateway import Gateway, ServerStatus, open_gateway
from limen.gateway.options import GatewayOptions
from tests.environment import ROOT, child_environment
from tests.house import House, a_house


def a_server(module: str, *args: str, **fields: Any) -> ServerEntry:
    """The entry of a server in `tests/servers`."""
    # Without `site`: the servers use nothing that is installed, and start twice as fast.
    argv = ("-S", "-m", f"tests.servers.{module}", *args)
    return ServerEntry(command=sys.executable, args=argv, cwd=str(ROOT), **fields)


@dataclass(frozen=True, slots=True)
class Threshold:
    """A house and the gateway in it."""

    house: House
    gateway: Gateway

    def status(self, server: str) -> ServerStatus:
        """How one server is."""
        return next(status for status in self.gateway.status() if status.name == server)


@asynccontextmanager
async def open_threshold(
    servers: Mapping[str, ServerEntry], folder: Path, **options: Any
) -> AsyncGenerator[Threshold, None]:
    """A house in front of these servers. At the end neither a process nor a descriptor nor a task is left of it."""
    before = Footprint.take()
    changes = ChangeFeed()
    chosen = GatewayOptions(
        cache_dir=folder / "definitions",
        credentials_dir=folder / "credentials",
        environment=child_environment(folder),
        changes=changes,
        **options,
    )
    async with open_gateway(servers, chosen) as gateway:
        yield Threshold(a_house(providers={"gateway": gateway}, changes=changes), gateway)
    await _settle()
    assert Footprint.take() == before


@dataclass(frozen=True, slots=True)
class Footprint:
    """What this process holds."""

    descriptors: int
    children: frozenset[int]
    tasks: int

    @classmethod
    def take(cls) -> "Footprint":
        """Count now."""
        return cls(len(os.listdir("/proc/self/fd")), frozenset(children_of(os.getpid())), len(asyncio.all_tasks()))


def children_of(pid: int) -> list[int]:
    """The processes that a process has started and that have not been waited for."""
    children: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        # A thread may end while it is looked at.
        with suppress(FileNotFoundError, ProcessLookupError):
            children += map(int, (task / "children").read_text().split())
    return children


def is_running(pid: int) -> bool:
    """Whether a process is there and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so that nobody tells us of."""
    async with asyncio.timeout(10):
        while not is_so():  # noqa: ASYNC110 -- a process that ends, a status that changes: there is no event for it
            await asyncio.sleep(0.01)


async def until_gone(*pids: int) -> None:
    """Wait until none of these processes runs."""
    await until(lambda: not any(map(is_running, pids)))


async def _settle() -> None:
    """Let callbacks run that closing has left for later."""
    for _ in range(3):
        await asyncio.sleep(0)
