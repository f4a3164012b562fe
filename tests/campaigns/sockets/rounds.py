"""One round of the campaign: a real hub, storms of half-open connections, and normal work all the while."""

import asyncio
import json
import os
import resource
import subprocess
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from time import perf_counter

from tests.campaigns.sockets.clients import Storm, Tally, Worker

PROMISE_S = 15.0
"""A half-open connection is closed within this time."""

SETTLE_S = 10.0
STEADY, COMING_AND_GOING = 4, 2


@dataclass(frozen=True, slots=True)
class Plan:
    """What one round does."""

    connections: int
    seconds: float
    max_connections: int
    timeout_s: float = 10.0

    @property
    def is_capped(self) -> bool:
        """Whether the cap is meant to turn connections away."""
        return self.max_connections < self.connections


@dataclass(frozen=True, slots=True)
class Figures:
    """What one round showed."""

    max_connections: int
    answered: int
    failed: int
    p50_ms: float
    p99_ms: float
    half_open: int
    closed: int
    refused: int
    left_open: Mapping[str, int]
    max_close_s: float
    fds_before: int
    fds_after: int
    failures: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether every promise was kept."""
        return (
            self.answered > 0
            and self.failed == 0
            and self.closed == self.half_open
            and self.max_close_s <= PROMISE_S
            and self.fds_after <= self.fds_before
        )


@dataclass(frozen=True, slots=True)
class Hub:
    """A running `limen serve`."""

    host: str
    port: int
    pid: int

    @property
    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))


@asynccontextmanager
async def a_hub(limen: Path, env: Mapping[str, str], plan: Plan) -> AsyncGenerator[Hub]:
    """Start a hub with this round's limits in the home of `env`, and end it."""
    config = Path(env["LIMEN_HOME"]) / "limen.yaml"
    limits = {"max_connections": plan.max_connections} | dict.fromkeys(
        ("header_timeout_s", "body_timeout_s"), plan.timeout_s
    )
    config.write_text(json.dumps({"server": limits}))
    with (config.parent / "hub.log").open("w+") as log:
        command = [str(limen), "serve", "--json", "--port", "0", "--config", str(config)]
        process = await asyncio.create_subprocess_exec(*command, env=env, stdout=subprocess.PIPE, stderr=log)
        try:
            assert process.stdout is not None
            told = await process.stdout.readline()
            if not told:
                log.seek(0)
                raise RuntimeError(f"the hub did not start: {log.read()}")
            host, _, port = json.loads(told)["url"].removeprefix("http://").partition("/")[0].rpartition(":")
            yield Hub(host, int(port), process.pid)
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


def allow_files(count: int) -> None:
    """Raise our own soft limit on open files, which a hub started by us inherits."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(count, hard)), hard))


async def play(limen: Path, env: Mapping[str, str], plan: Plan, tell: Callable[[str], None]) -> Figures:
    """Play one round and say what it showed."""
    allow_files(plan.connections * 2 + 256)
    async with a_hub(limen, env, plan) as hub:
        await _warm_up(hub)
        before = hub.open_files
        tally, storm, done = Tally(), Storm(hub.host, hub.port), asyncio.Event()
        # Where the cap turns newcomers away, only those that were there before can be promised an answer.
        comers = 0 if plan.is_capped else COMING_AND_GOING
        workers = [Worker(hub.host, hub.port, tally, reconnects=n >= STEADY) for n in range(STEADY + comers)]
        for worker in workers:
            await worker.once()
        async with asyncio.TaskGroup() as group:
            for worker in workers:
                group.create_task(worker.work(done))
            await _blow_for(storm, plan, tally, tell)
            done.set()
        after = await _settled(hub, before)
    return _figures(plan, storm, tally, before, after)


async def _blow_for(storm: Storm, plan: Plan, tally: Tally, tell: Callable[[str], None]) -> None:
    start, opened = perf_counter(), 0
    while not opened or perf_counter() - start < plan.seconds:
        await storm.blow(plan.connections, PROMISE_S)
        opened += plan.connections
        tell(
            f"cap {plan.max_connections}: {len(storm.ended)} of {opened} half-open connections ended, "
            f"{len(tally.latencies_ms)} normal requests answered, {len(tally.failures)} failed"
        )


async def _warm_up(hub: Hub) -> None:
    """Open what a hub opens once, so that the count of files starts where it must come back to."""
    tally = Tally()
    worker = Worker(hub.host, hub.port, tally)
    for _ in range(6):
        await worker.once()
    await worker.leave()
    if tally.failures:
        raise RuntimeError(f"the hub does not work: {tally.failures[0]}")
    await _settled(hub, 0, patience_s=0.5)


async def _settled(hub: Hub, wanted: int, patience_s: float = SETTLE_S) -> int:
    """The hub's open files once they are down to what is wanted, or when patience ends."""
    start = perf_counter()
    while (count := hub.open_files) > wanted and perf_counter() - start < patience_s:  # noqa: ASYNC110 -- /proc tells nobody
        await asyncio.sleep(0.05)
    return count


def _figures(plan: Plan, storm: Storm, tally: Tally, before: int, after: int) -> Figures:
    cuts = quantiles(tally.latencies_ms, n=100) if len(tally.latencies_ms) > 1 else [0.0] * 99
    lasted = [one.lasted_s for one in storm.ended if one.lasted_s is not None and not one.was_given_up]
    left = [one.kind.name for one in storm.ended if one.was_given_up]
    return Figures(
        max_connections=plan.max_connections,
        answered=len(tally.latencies_ms),
        failed=len(tally.failures),
        p50_ms=round(cuts[49], 2),
        p99_ms=round(cuts[98], 2),
        half_open=storm.opened,
        closed=len(lasted) + storm.turned_away,
        refused=sum(one.is_refused for one in storm.ended) + storm.turned_away,
        left_open={name: left.count(name) for name in sorted(set(left))},
        max_close_s=round(max(lasted, default=0.0), 2),
        fds_before=before,
        fds_after=after,
        failures=tuple(tally.failures[:5]),
    )
