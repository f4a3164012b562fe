"""Servers that die, a hub that is killed, crowds, everybody talking at once: `python -m tests.campaigns.gateway`."""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.campaigns.gateway.rounds import Found, Stage, crashes, crowd, killed, talks
from tests.campaigns.sockets.rounds import allow_files
from tests.environment import child_environment, find_program


def main() -> int:
    """Play every round; 0 when every promise held."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.gateway", description=__doc__)
    parser.add_argument("--crashes", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--calls", type=int, default=50, help="calls of each client")
    parser.add_argument("--talks", type=int, default=50, help="calls at once on one server that talks")
    chosen = parser.parse_args()
    limen = find_program("limen")
    if limen is None:
        print("limen is not installed here: run it through `make campaign-gateway`", file=sys.stderr)
        return 2
    allow_files(chosen.clients * 4 + 256)
    found = [
        _play(limen, lambda stage: crashes(stage, chosen.crashes)),
        _play(limen, killed),
        _play(limen, lambda stage: crowd(stage, chosen.clients, chosen.calls)),
        _play(limen, lambda stage: talks(stage, "stdio", chosen.talks)),
        _play(limen, lambda stage: talks(stage, "http", chosen.talks)),
    ]
    holds = all(one.holds for one in found)
    print(json.dumps({"campaign": "gateway", "ok": holds} | {one.name: one.figures for one in found}))
    return 0 if holds else 1


def _play(limen: Path, play: Callable[[Stage], Awaitable[Found]]) -> Found:
    async def run(stage: Stage) -> Found:
        return await play(stage)

    with tempfile.TemporaryDirectory(prefix="limen-gateway-") as home:
        found = asyncio.run(run(Stage(limen, child_environment(Path(home)))))
    print(f"{found.name}: {'held' if found.holds else 'BROKEN'} {dict(found.figures)}", flush=True)
    for failure in found.failures[:5]:
        print(f"  {failure}", flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
