"""Kills the process group of a brain's writers again and again, and holds the brain against what they were told."""

import subprocess
import tempfile
import time
from pathlib import Path
from random import Random

from limen.brain.documents.vault import open_vault
from limen.brain.git.follower import GitFollower
from limen.brain.records import BrainId
from tests.campaigns.brain.crew import BRAIN, Crew
from tests.campaigns.brain.tally import Tally
from tests.contract.vault_acks import Expected

ROUNDS_PER_BRAIN = 25
GIT_PATIENCE_S = 60.0
START_PATIENCE_S = 20.0


def run_kills(tally: Tally, rng: Random, kills: int, *, git: Path | None) -> None:
    """So many kills, a fresh brain now and then, or the first thing that is wrong."""
    while tally.figures["kills"] < kills and not tally.wrong:
        with tempfile.TemporaryDirectory(prefix="limen-kills-") as folder:
            root = Path(folder) / "brain"
            for number in range(min(ROUNDS_PER_BRAIN, kills - tally.figures["kills"])):
                _round(tally, rng, root, number, follow=git is not None)
                if tally.wrong:
                    return
            if git is not None:
                _check_git(tally, root, git)
        print(f"{tally.figures['kills']} kills, {tally.figures['acknowledged']} acknowledged", flush=True)


def _round(tally: Tally, rng: Random, root: Path, number: int, *, follow: bool) -> None:
    acks = root.parent / f"acks-{number}"
    acks.mkdir()
    crew = Crew(root, acks)
    for worker in range(rng.choice((1, 2, 3))):
        crew.hire(f"r{number}w{worker}", count=100_000, threads=rng.choice((1, 2, 4)), follow=follow)
    if rng.random() > 0.1:
        _wait_for_first(acks, len(crew.pids))
    time.sleep(rng.uniform(0, 0.25))
    crew.kill()
    tally.figures["kills"] += 1
    expected = Expected()
    for said in crew.heard():
        expected.hear(said)
    tally.figures["acknowledged"] += expected.acknowledged
    began = time.monotonic()
    vault = open_vault(root, BrainId(BRAIN))
    tally.took("restart", time.monotonic() - began)
    try:
        tally.blame(expected.failed, f"round {number}, refused")
        tally.blame(expected.problems(vault, crew.names), f"round {number}")
        head = vault.head()
        if vault.notice() != head:
            tally.blame(["files are not as the journal has them"], f"round {number}")
    finally:
        vault.close()


def _wait_for_first(acks: Path, writers: int) -> None:
    deadline = time.monotonic() + START_PATIENCE_S
    while time.monotonic() < deadline:
        if sum(path.stat().st_size > 20 for path in acks.iterdir()) == writers:
            return
        time.sleep(0.005)


def _check_git(tally: Tally, root: Path, git: Path) -> None:
    """Git must catch up by itself, be sound, and hold exactly what the files hold."""
    vault = open_vault(root, BRAIN)
    follower = GitFollower(vault, root)
    follower.start()
    try:
        began = time.monotonic()
        if not follower.catch_up(GIT_PATIENCE_S):
            tally.blame([f"still behind: {follower.lag()}"], "git")
        tally.took("git_catch_up", time.monotonic() - began)
    finally:
        follower.close()
        vault.close()
    for command in (("fsck", "--strict"), ("status", "--porcelain")):
        done = subprocess.run([git, "-C", root, *command], capture_output=True, text=True, check=False)
        noise = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("dangling")]
        if done.returncode or noise:
            tally.blame(noise[:5] or [f"exit {done.returncode}"], f"git {command[0]}")
    tally.figures["git_checked"] += 1
