"""Measures Limen as a gateway beside a direct connection to the same server, in one run, with the audit on.

Everything goes over stdio, in revision 2025-11-25. The server behind is a plain asyncio echo; slower ones, which is
nearly all of them, make every ratio smaller. Direct and through Limen take turns, so that a busy machine is busy for
both, and each ratio is the median of its rounds.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.gateway.pipes import PipeClient

UPSTREAM = Path(__file__).with_name("upstream.py")
SERVERS, TOOLS = 10, 100
IDLE_SERVERS = 20
LIMITS = {
    "p50_ratio": 2.5,
    "cpu_ms_per_call": 0.35,
    "list_ratio": 1.5,
    "warm_start_cpu_s": 0.4,
    "idle_rss_mb": 80.0,
    "p99_beside_nap_ratio": 2.0,
    "hung_list_s": 1.0,
}
"""The most each may be; of the direct rate at 64 in flight Limen must reach at least 0.4."""
LEAST_SHARE = 0.4


def upstream(argument: str) -> list[str]:
    """The server behind."""
    # Without `site`: it needs nothing that is installed.
    return [sys.executable, "-S", str(UPSTREAM), argument]


@dataclass(frozen=True, slots=True)
class Home:
    """A folder with settings, and the means to start Limen in it."""

    path: Path

    @property
    def env(self) -> dict[str, str]:
        """What both sides see."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.path), "LIMEN_HOME": str(self.path)}

    def configure(self, servers: dict[str, str]) -> None:
        """Settings with these servers: name and the argument of the upstream."""
        entries = {name: {"command": argv[0], "args": argv[1:]} for name, argv in _commands(servers).items()}
        (self.path / "limen.yaml").write_text(json.dumps({"toolsets": ["hub"], "servers": entries}))

    @asynccontextmanager
    async def limen(self) -> AsyncGenerator[PipeClient]:
        """Limen on stdio, as a user starts it."""
        program = str(Path(sys.executable).with_name("limen"))
        client = await PipeClient.start([program, "--config", str(self.path / "limen.yaml"), "stdio"], self.env)
        try:
            yield client
        finally:
            await client.stop()

    @asynccontextmanager
    async def direct(self, argument: str) -> AsyncGenerator[PipeClient]:
        """The server itself."""
        client = await PipeClient.start(upstream(argument), self.env)
        try:
            yield client
        finally:
            await client.stop()


def _commands(servers: dict[str, str]) -> dict[str, list[str]]:
    return {name: upstream(argument) for name, argument in servers.items()}


@asynccontextmanager
async def a_home(servers: dict[str, str]) -> AsyncGenerator[Home]:
    """A fresh home with these servers configured."""
    with tempfile.TemporaryDirectory(prefix="limen-bench-") as folder:
        home = Home(Path(folder))
        home.configure(servers)
        yield home


async def list_all(client: PipeClient, least: int) -> tuple[float, int]:
    """Ask until the list is complete."""
    while True:
        took_ms, count = await client.list_tools()
        if count >= least:
            return took_ms, count


def children(pid: int) -> int:
    """How many processes a process has started that are there now."""
    return sum(len((task / "children").read_text().split()) for task in Path(f"/proc/{pid}/task").iterdir())


def resident_mb(pid: int) -> float:
    """A process's own memory."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) / 1024


async def calls(rounds: int, count: int) -> dict[str, float]:
    """Echo calls, one at a time and 64 at a time."""
    async with a_home({"up": "4"}) as home, home.limen() as limen, home.direct("4") as direct:
        await list_all(limen, 4)
        for in_flight in (1, 64):
            await limen.call_often("up__echo", 300, in_flight)
            await direct.call_often("echo", 300, in_flight)
        pairs = [
            (await direct.call_often("echo", count), await limen.call_often("up__echo", count)) for _ in range(rounds)
        ]
        many = [
            (await direct.call_often("echo", count * 2, 64), await limen.call_often("up__echo", count * 2, 64))
            for _ in range(rounds)
        ]
    return {
        "direct_p50_ms": round(median(a.p50_ms for a, _ in pairs), 3),
        "limen_p50_ms": round(median(b.p50_ms for _, b in pairs), 3),
        "p50_ratio": round(median(b.p50_ms / a.p50_ms for a, b in pairs), 2),
        "cpu_ms_per_call": round(median(b.cpu_ms for _, b in pairs), 3),
        "cpu_ms_per_call_64": round(median(b.cpu_ms for _, b in many), 3),
        "upstream_cpu_ms_per_call": round(median(a.cpu_ms for a, _ in pairs), 3),
        "direct_calls_s_64": round(median(a.calls_per_s for a, _ in many)),
        "limen_calls_s_64": round(median(b.calls_per_s for _, b in many)),
        "share_64": round(median(b.calls_per_s / a.calls_per_s for a, b in many), 3),
    }


async def lists(rounds: int) -> dict[str, float]:
    """`tools/list` of 1,000 tools, and a warm start with the ten servers that have them."""
    total = SERVERS * TOOLS
    async with a_home({f"up{n}": str(TOOLS) for n in range(SERVERS)}) as home:
        async with home.limen() as limen, home.direct(str(total)) as direct:
            await list_all(limen, total)
            pairs = [(await list_all(direct, total), await list_all(limen, total)) for _ in range(rounds * 5)]
        starts: list[tuple[float, int]] = []
        for _ in range(rounds):
            async with home.limen() as limen:
                _, count = await limen.list_tools()
                starts.append((limen.cpu_s, children(limen.process.pid)))
                if count < total:
                    raise AssertionError(f"a warm start told of {count} tools, not of {total}")
    return {
        "direct_list_ms": round(median(a for (a, _), _ in pairs), 2),
        "limen_list_ms": round(median(b for _, (b, _) in pairs), 2),
        "list_ratio": round(median(b / a for (a, _), (b, _) in pairs), 2),
        "warm_start_cpu_s": round(median(cpu for cpu, _ in starts), 3),
        "started_by_warm_start": max(count for _, count in starts),
    }


async def idle() -> dict[str, float]:
    """Limen's own memory with twenty servers that run and have nothing to do."""
    async with a_home({f"up{n}": "10" for n in range(IDLE_SERVERS)}) as home, home.limen() as limen:
        await list_all(limen, IDLE_SERVERS * 10)
        for number in range(IDLE_SERVERS):
            await limen.call(f"up{number}__echo")
        return {
            "idle_rss_mb": round(resident_mb(limen.process.pid), 1),
            "idle_servers_running": children(limen.process.pid),
        }


async def beside_nap(rounds: int, count: int) -> dict[str, float]:
    """Calls to one server, with and without a call of 2 s to another."""
    async with a_home({"quick": "4", "slow": "4"}) as home, home.limen() as limen:
        await list_all(limen, 8)
        await limen.call("slow__nap")
        await limen.call_often("quick__echo", 300)
        alone, beside = [], []
        for _ in range(rounds):
            alone.append(await limen.call_often("quick__echo", count))
            limen.begin("slow__nap")
            beside.append(await limen.call_often("quick__echo", count))
            await limen.call("slow__nap")
    return {
        "p99_alone_ms": round(median(found.p99_ms for found in alone), 3),
        "p99_beside_nap_ms": round(median(found.p99_ms for found in beside), 3),
        "p99_beside_nap_ratio": round(median(b.p99_ms / a.p99_ms for a, b in zip(alone, beside, strict=True)), 2),
    }


async def hung() -> dict[str, float]:
    """A first start, nothing known, with one server that never answers its handshake."""
    async with a_home({"hung": "hang", "a": "10", "b": "10"}) as home, home.limen() as limen:
        took_ms, count = await limen.list_tools()
        answered = [await limen.call(f"{name}__echo") for name in ("a", "b") for _ in range(50)]
        later_ms, _ = await limen.list_tools()
    return {
        "hung_list_s": round(took_ms / 1000, 3),
        "hung_list_tools": count,
        "hung_next_list_ms": round(later_ms, 2),
        "hung_calls_answered": sum(is_answered for _, is_answered in answered) / len(answered),
        "hung_call_worst_ms": round(max(took for took, _ in answered), 1),
    }


async def dead(rounds: int) -> dict[str, float]:
    """A server that died at a call: how long the next call takes, which starts it again."""
    back: list[tuple[float, bool]] = []
    failed: list[float] = []
    async with a_home({"up": "4"}) as home, home.limen() as limen:
        await list_all(limen, 4)
        for _ in range(rounds):
            failed.append((await limen.call("up__crash"))[0])
            back.append(await limen.call("up__echo"))
    return {
        "died_call_fails_ms": round(median(failed), 1),
        "back_ms": round(median(took for took, _ in back), 1),
        "back_at_first_call": sum(is_answered for _, is_answered in back) / len(back),
    }


def failures(found: dict[str, float]) -> list[str]:
    """What is not as it must be."""
    missed = [f"{name} is {found[name]}, more than {most}" for name, most in LIMITS.items() if found[name] > most]
    if found["share_64"] < LEAST_SHARE:
        missed.append(f"share_64 is {found['share_64']}, less than {LEAST_SHARE}")
    wanted = {"started_by_warm_start": 0, "hung_calls_answered": 1, "back_at_first_call": 1}
    return missed + [f"{name} is {found[name]}, not {value}" for name, value in wanted.items() if found[name] != value]


async def main() -> None:
    """Run everything and print the figures."""
    parser = argparse.ArgumentParser(prog="bench.gateway", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=2000, help="calls of each side in a round")
    options = parser.parse_args()
    found: dict[str, float] = {}
    for part in (
        lambda: calls(options.rounds, options.calls),
        lambda: lists(options.rounds),
        idle,
        lambda: beside_nap(options.rounds, options.calls),
        hung,
        lambda: dead(options.rounds),
    ):
        figures = await part()
        for name, value in figures.items():
            print(f"{name:<26}{value:>10}", flush=True)
        found |= figures
    print(json.dumps({"bench": "gateway", "missed": failures(found), **found}))


if __name__ == "__main__":
    asyncio.run(main())
