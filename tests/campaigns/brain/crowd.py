"""Many processes write to one brain at once: nobody is refused, and nothing is lost."""

import tempfile
import time
from pathlib import Path

from limen.brain.documents.vault import open_vault
from tests.campaigns.brain.crew import BRAIN, Crew
from tests.campaigns.brain.tally import Tally
from tests.contract.vault_acks import Expected


def run_crowd(tally: Tally, processes: int, writes: int) -> None:
    """So many processes with so many sets of changes each."""
    with tempfile.TemporaryDirectory(prefix="limen-crowd-") as folder:
        root, acks = Path(folder) / "brain", Path(folder) / "acks"
        acks.mkdir()
        crew = Crew(root, acks)
        began = time.monotonic()
        for worker in range(processes):
            crew.hire(f"p{worker}", count=writes, threads=1, follow=False)
        if failed := crew.wait():
            tally.blame([f"{failed} ended badly"], "crowd")
        tally.took("crowd", time.monotonic() - began)
        expected = Expected()
        for said in crew.heard():
            expected.hear(said)
        tally.figures["crowd_acknowledged"] = expected.acknowledged
        tally.figures["crowd_refused"] = len(expected.failed)
        tally.blame(expected.failed, "crowd, refused")
        if expected.acknowledged != processes * writes:
            tally.blame([f"{expected.acknowledged} of {processes * writes} acknowledged"], "crowd")
        vault = open_vault(root, BRAIN)
        try:
            tally.blame(expected.problems(vault), "crowd")
        finally:
            vault.close()
