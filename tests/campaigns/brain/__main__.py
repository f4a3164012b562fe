"""`make campaign-brain`: kills, power cuts, crowds, full disks and spoilt indexes.

Nothing that was acknowledged may be lost or torn, and no answer may be wrong. Five parts, each with its figures: the
writers' process group is killed again and again; the power is cut, on a model of a disk
(tests/campaigns/brain/cuts.py); many processes write at once; the disk is full at many different points; the index is
spoilt in many ways, also under those who use it.
"""

import argparse
import json
import sys
import time
from random import Random, SystemRandom

from tests.campaigns.brain.crowd import run_crowd
from tests.campaigns.brain.cuts import run_cuts
from tests.campaigns.brain.damages import run_damages
from tests.campaigns.brain.fullness import run_fullness
from tests.campaigns.brain.kills import run_kills
from tests.campaigns.brain.tally import Tally
from tests.environment import find_program

RESTART_LIMIT_S = 2.0


def run(tally: Tally, rng: Random, chosen: argparse.Namespace) -> bool:
    """Every part that was asked for; False when one could not run."""
    git = find_program("git") if chosen.git else None
    if chosen.kills:
        run_kills(tally, rng, chosen.kills, git=git)
    if chosen.cuts and not tally.wrong:
        run_cuts(tally, rng, chosen.cuts)
    if chosen.crowd and not tally.wrong:
        run_crowd(tally, 8, chosen.crowd)
    is_whole = not chosen.full or bool(tally.wrong) or run_fullness(tally, rng, chosen.full)
    if not is_whole:
        print("NOT RUN: full disks need the right to mount a tmpfs; run this as root")
    # Last, because it has threads of its own, and processes are forked by the others.
    if chosen.damages and not tally.wrong:
        run_damages(tally, rng, chosen.damages)
    return is_whole


def main() -> int:
    """Run the campaign and end with one line of JSON."""
    options = argparse.ArgumentParser(prog="python -m tests.campaigns.brain", description=__doc__)
    options.add_argument("--kills", type=int, default=1000, help="how many process groups are killed")
    options.add_argument("--cuts", type=int, default=300, help="how many power cuts are simulated")
    options.add_argument("--crowd", type=int, default=1000, help="how many writes each of eight processes makes")
    options.add_argument("--full", type=int, default=100, help="at how many points the disk is full")
    options.add_argument("--damages", type=int, default=300, help="how often the index is spoilt")
    options.add_argument("--no-git", dest="git", action="store_false", help="leave git history out")
    options.add_argument("--seed", type=int, default=None, help="repeat the choices of an earlier run")
    chosen = options.parse_args()
    seed = chosen.seed if chosen.seed is not None else SystemRandom().randrange(2**32)
    print(f"seed {seed}", flush=True)
    tally, started = Tally(), time.monotonic()
    is_whole = run(tally, Random(seed), chosen)
    for line in tally.wrong[:20]:
        print(f"WRONG {line[:400]}")
    restart_s = tally.longest_s.get("restart", 0.0)
    if restart_s > RESTART_LIMIT_S:
        print(f"SLOW a restart took {restart_s} s")
    is_ok = not tally.wrong and restart_s <= RESTART_LIMIT_S and is_whole
    figures = {**tally.figures, **{f"longest_{what}_s": seconds for what, seconds in tally.longest_s.items()}}
    summary = {"campaign": "brain", "ok": is_ok, "seed": seed, **figures, "lost_or_torn": len(tally.wrong)}
    print(json.dumps({**summary, "s": round(time.monotonic() - started)}))
    return 0 if is_ok else 1


if __name__ == "__main__":
    sys.exit(main())
