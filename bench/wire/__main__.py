"""Measures echo calls over stdio and HTTP, one and 32 in flight, and the start of a stdio server.

Limen and the official SDK's server run in the same minutes, turn by turn, so that a busy machine is
busy for both; each ratio is the median of its rounds. Limen's audit is on, in a folder on disk.

`stdio_cpu_ratio` and `http_cpu_ratio` are the worse of one call alone and one among 32; the ratio of each stands beside
them.
"""

import argparse
import json
import os
import socket
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

import uvloop

from bench.wire.clients import HttpClient, Sample, StdioClient

HERE = Path(__file__).parent
IN_FLIGHT = (1, 32)


def free_port() -> int:
    """A port nobody uses just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(home: str) -> dict[str, str]:
    """What both servers see: a home of their own, and the echo toolset for Limen to find."""
    return {"PATH": os.environ["PATH"], "HOME": home, "LIMEN_HOME": home, "PYTHONPATH": str(HERE / "plugin")}


def limen(home: str, *arguments: str) -> list[str]:
    """Limen as a user starts it."""
    return [str(Path(sys.executable).with_name("limen")), "--config", str(Path(home) / "limen.yaml"), *arguments]


def sdk(*arguments: str) -> list[str]:
    """The peer."""
    return [sys.executable, str(HERE / "sdk_server.py"), *arguments]


Echo = Callable[[int, int], Awaitable[Sample]]


async def rounds(ours: Echo, theirs: Echo, count: int, calls: int) -> dict[int, dict[str, float]]:
    """Both servers, turn by turn; per number in flight: CPU and rate of each, and the median ratio."""
    figures: dict[int, dict[str, float]] = {}
    for in_flight in IN_FLIGHT:
        for warm_up in (ours, theirs):
            await warm_up(64, in_flight)
        pairs: list[tuple[Sample, Sample]] = []
        for turn in range(count):
            if turn % 2:
                b = await theirs(calls, in_flight)
                a = await ours(calls * 4, in_flight)
            else:
                a = await ours(calls * 4, in_flight)
                b = await theirs(calls, in_flight)
            pairs.append((a, b))
        figures[in_flight] = {
            "limen_cpu_us": round(median(a.cpu_us for a, _ in pairs), 1),
            "sdk_cpu_us": round(median(b.cpu_us for _, b in pairs), 1),
            "limen_calls_s": round(median(a.calls_per_s for a, _ in pairs)),
            "sdk_calls_s": round(median(b.calls_per_s for _, b in pairs)),
            "ratio": round(median(a.cpu_us / b.cpu_us for a, b in pairs), 4),
        }
    return figures


async def stdio(home: str, count: int, calls: int) -> dict[int, dict[str, float]]:
    """Echo over pipes."""
    env = environment(home)
    ours = await StdioClient.start(limen(home, "stdio"), env)
    theirs = await StdioClient.start(sdk("stdio"), env)
    try:
        return await rounds(ours.echo, theirs.echo, count, calls)
    finally:
        await ours.stop()
        await theirs.stop()


async def http(home: str, count: int, calls: int) -> dict[int, dict[str, float]]:
    """Echo over Streamable HTTP."""
    env, port, peer_port = environment(home), free_port(), free_port()
    ours = await HttpClient.start(limen(home, "serve", "--port", str(port)), env, port)
    theirs = await HttpClient.start(sdk("http", str(peer_port)), env, peer_port)
    try:
        return await rounds(ours.echo, theirs.echo, count, calls)
    finally:
        await ours.stop()
        await theirs.stop()


async def startup(count: int) -> dict[str, float]:
    """CPU from spawn to the reply to `initialize`; Limen with its default settings."""
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(count):
        with tempfile.TemporaryDirectory() as home:
            env = {"PATH": os.environ["PATH"], "HOME": home, "LIMEN_HOME": home}
            for command, kept in (([limen(home)[0], "stdio"], ours), (sdk("stdio"), theirs)):
                client = await StdioClient.start(command, env)
                kept.append(client.startup_cpu_s)
                await client.stop()
    return {
        "limen_cpu_ms": round(median(ours) * 1000, 1),
        "sdk_cpu_ms": round(median(theirs) * 1000, 1),
        "ratio": round(median(a / b for a, b in zip(ours, theirs, strict=True)), 4),
    }


def worst(figures: dict[int, dict[str, float]]) -> float:
    """The ratio where Limen does least well."""
    return max(found["ratio"] for found in figures.values())


def show(name: str, figures: dict[int, dict[str, float]]) -> None:
    """One line per number in flight, for people."""
    for in_flight, found in figures.items():
        print(
            f"{name:<6} {in_flight:>2} in flight: limen {found['limen_cpu_us']:>7.1f} us CPU "
            f"{found['limen_calls_s']:>6.0f}/s   sdk {found['sdk_cpu_us']:>7.1f} us CPU "
            f"{found['sdk_calls_s']:>5.0f}/s   ratio {found['ratio']:.3f}",
            flush=True,
        )


async def main() -> None:
    """Run everything and print the figures."""
    parser = argparse.ArgumentParser(prog="bench.wire", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--calls", type=int, default=1000, help="calls of the SDK per round; Limen makes four times as many"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        (Path(home) / "limen.yaml").write_text("toolsets: [hub, bench]\n")
        on_stdio = await stdio(home, options.rounds, options.calls)
        show("stdio", on_stdio)
        on_http = await http(home, options.rounds, options.calls)
        show("http", on_http)
    start = await startup(options.rounds)
    print(f"start: limen {start['limen_cpu_ms']} ms CPU, sdk {start['sdk_cpu_ms']} ms CPU, ratio {start['ratio']:.3f}")
    print(
        json.dumps(
            {
                "bench": "wire",
                "stdio_cpu_ratio": worst(on_stdio),
                "http_cpu_ratio": worst(on_http),
                "startup_ratio": start["ratio"],
                "stdio": on_stdio,
                "http": on_http,
                "startup": start,
            }
        )
    )


if __name__ == "__main__":
    uvloop.run(main())
