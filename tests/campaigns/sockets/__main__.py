"""Half-open connections by the thousand while normal requests go on: `python -m tests.campaigns.sockets`."""

import argparse
import asyncio
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from tests.campaigns.sockets.rounds import Figures, Plan, play
from tests.environment import child_environment, find_program

DEFAULT_CAP = 512
SPARE = 64


def main() -> int:
    """Play a round above and a round below the cap on connections; 0 when every promise held."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.sockets", description=__doc__)
    parser.add_argument("--connections", type=int, default=1000, help="half-open connections at once")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to go on, both rounds together")
    chosen = parser.parse_args()
    limen = find_program("limen")
    if limen is None:
        print("limen is not installed here: run it through `make campaign-sockets`", file=sys.stderr)
        return 2
    # All of them admitted and closed by their deadlines, then a cap that many of them run into.
    caps = (chosen.connections + SPARE, min(DEFAULT_CAP, chosen.connections * 3 // 4))
    rounds = [_play(limen, Plan(chosen.connections, chosen.seconds / len(caps), cap)) for cap in caps]
    print(json.dumps(_summary(chosen.connections, rounds)))
    return 0 if all(figures.holds for figures in rounds) else 1


def _play(limen: Path, plan: Plan) -> Figures:
    with tempfile.TemporaryDirectory(prefix="limen-sockets-") as home:
        return asyncio.run(play(limen, child_environment(Path(home)), plan, lambda line: print(line, flush=True)))


def _summary(connections: int, rounds: list[Figures]) -> dict[str, object]:
    return {
        "campaign": "sockets",
        "ok": all(figures.holds for figures in rounds),
        "connections": connections,
        "answered": sum(figures.answered for figures in rounds),
        "failed": sum(figures.failed for figures in rounds),
        "p50_ms": max(figures.p50_ms for figures in rounds),
        "p99_ms": max(figures.p99_ms for figures in rounds),
        "half_open": sum(figures.half_open for figures in rounds),
        "closed": sum(figures.closed for figures in rounds),
        "refused_503": sum(figures.refused for figures in rounds),
        "max_close_s": max(figures.max_close_s for figures in rounds),
        "fds_before": [figures.fds_before for figures in rounds],
        "fds_after": [figures.fds_after for figures in rounds],
        "rounds": [asdict(figures) for figures in rounds],
    }


if __name__ == "__main__":
    sys.exit(main())
