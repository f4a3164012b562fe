"""Several processes, and processes that are killed: one git history, whole, and never a lock that needs a hand."""

import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from limen.brain.git.follower import GitFollower
from limen.brain.git.history import GitPast
from limen.brain.records import CommitId
from tests.contract.git_brain import GitBrain
from tests.environment import ROOT


def _start(root: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.contract.git_driver", str(root), name, str(count)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def _must_hold(root: Path, told: Sequence[str]) -> None:
    """Every accepted commit is in git once, and what it wrote is in that commit."""
    brain = GitBrain(root)
    follower = GitFollower(brain.vault, root)
    assert follower.catch_up(30)
    follower.close()
    assert follower.lag().unpublished == ""
    trailers = [line[14:] for line in brain.git("log", "--format=%b").splitlines() if line.startswith("Limen-Commit: ")]
    assert len(trailers) == len(set(trailers))
    past = GitPast(root)
    for line in told:
        commit, path, number = line.split()
        assert commit in trailers
        found = brain.vault.find_commit(CommitId(commit))
        assert found is not None
        assert past.read_at(path, found.git_sha) == f"{path.split('/')[0]} {number}\n".encode()
    brain.must_be_sound()
    brain.vault.close()


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_follower_that_is_killed_again_and_again_leaves_nothing_to_mend(tmp_path: Path) -> None:
    root = tmp_path / "brain"
    told: list[str] = []
    choose = random.Random(7)
    for turn in range(8):
        process = _start(root, f"turn-{turn}", 100_000)
        assert process.stdout is not None
        told += [process.stdout.readline() for _ in range(choose.randrange(20, 60))]
        process.kill()
        told += [line for line in process.communicate()[0].splitlines() if len(line.split()) == 3]
    _must_hold(root, told)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_processes_that_write_at_once_share_one_history(tmp_path: Path) -> None:
    root = tmp_path / "brain"
    processes = [_start(root, f"writer-{number}", 60) for number in range(3)]
    told = [line for process in processes for line in process.communicate()[0].splitlines()]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(told) == 180
    _must_hold(root, told)
