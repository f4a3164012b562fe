"""The brain campaign in small: a few kills, power cuts, processes at once, full disks and spoilt indexes."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.environment import ROOT, lack
from tests.requirements import requirement

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def campaign(*options: str) -> dict[str, Any]:
    """Run it and read its last line; parts that are not asked for are left out."""
    parts = {"--kills": "0", "--cuts": "0", "--crowd": "0", "--full": "0", "--damages": "0"}
    parts.update(zip(options[::2], options[1::2], strict=True))
    command = [sys.executable, "-m", "tests.campaigns.brain", *[word for part in parts.items() for word in part]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if "NOT RUN" in done.stdout:
        lack("permission to mount", "run the tests as root, in a namespace of their own")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@requirement("brain.acknowledged-stays")
def test_nothing_acknowledged_is_lost_when_its_writers_are_killed() -> None:
    figures = campaign("--kills", "4")
    assert (figures["kills"], figures["lost_or_torn"]) == (4, 0)
    assert figures["acknowledged"] > 0
    assert figures["git_checked"] == 1


@requirement("brain.acknowledged-stays")
def test_nothing_acknowledged_is_lost_in_a_power_cut() -> None:
    figures = campaign("--cuts", "8")
    assert (figures["cuts"], figures["lost_or_torn"]) == (8, 0)


@requirement("brain.acknowledged-stays")
def test_eight_processes_write_at_once_and_nobody_is_refused() -> None:
    figures = campaign("--crowd", "10")
    assert (figures["crowd_acknowledged"], figures["crowd_refused"]) == (80, 0)


@requirement("brain.acknowledged-stays")
def test_a_full_disk_breaks_nothing() -> None:
    figures = campaign("--full", "10")
    assert (figures["full_points"], figures["lost_or_torn"]) == (10, 0)
    assert figures["full_refused"] > 0


@requirement("index.damage")
def test_no_answer_is_wrong_after_the_index_was_spoilt() -> None:
    figures = campaign("--damages", "8")
    assert (figures["damage_rounds"], figures["damage_wrong_answers"]) == (8, 0)
    assert figures["damage_answers"] > 0
