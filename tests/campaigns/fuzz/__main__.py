"""Odd frames by the hundred thousand against the real hub, on stdio and over HTTP: `python -m tests.campaigns.fuzz`."""

import argparse
import asyncio
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from tests.campaigns.fuzz.http import fuzz_http
from tests.campaigns.fuzz.hub import Figures
from tests.campaigns.fuzz.stdio import fuzz_stdio
from tests.environment import find_program
from tests.servers.everything.running import Hub

TRANSPORTS = {"stdio": fuzz_stdio, "http": fuzz_http}


def main() -> int:
    """Fuzz the transports that were asked for; 0 when the hub bore it all."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.fuzz", description=__doc__)
    parser.add_argument("--frames", type=int, default=100_000, help="frames for each transport")
    parser.add_argument("--transport", choices=[*TRANSPORTS, "both"], default="both")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same frames")
    chosen = parser.parse_args()
    limen = find_program("limen")
    if limen is None:
        print("limen is not installed here: run it through `make campaign-fuzz`", file=sys.stderr)
        return 2
    names = list(TRANSPORTS) if chosen.transport == "both" else [chosen.transport]
    rounds = [_play(limen, name, chosen.frames, chosen.seed) for name in names]
    print(json.dumps(_summary(rounds)))
    return 0 if all(figures.holds for figures in rounds) else 1


def _play(limen: Path, transport: str, frames: int, seed: int) -> Figures:
    with tempfile.TemporaryDirectory(prefix="limen-fuzz-") as home:
        figures = asyncio.run(TRANSPORTS[transport](Hub.prepare(limen, Path(home)), frames, seed))
    print(
        f"{transport}: {figures.frames} frames, {figures.replies} replies ({figures.errors} refusals), "
        f"{figures.answered} of {figures.valid} valid requests answered, "
        f"{figures.mb_early:.0f} -> {figures.mb_late:.0f} MB, {figures.seconds} s",
        flush=True,
    )
    for fault in figures.faults:
        print(f"  {transport}: {fault}", flush=True)
    return figures


def _summary(rounds: list[Figures]) -> dict[str, object]:
    return {
        "campaign": "fuzz",
        "ok": all(figures.holds for figures in rounds),
        "frames": sum(figures.frames for figures in rounds),
        "valid": sum(figures.valid for figures in rounds),
        "answered": sum(figures.answered for figures in rounds),
        "rounds": [asdict(figures) for figures in rounds],
    }


if __name__ == "__main__":
    sys.exit(main())
