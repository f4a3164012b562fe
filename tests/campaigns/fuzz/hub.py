"""The real hub under fire: how it is watched while it runs, and what is found out about it afterwards."""

import os
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["ANSWER_S", "Fault", "Figures", "judge", "memory_mb"]

ANSWER_S = 20.0
"""How long a valid request may go unanswered while the frames around it are worked through."""
GROWTH_MB = 64.0
"""How much more memory the hub may hold at the end than after the first fifth."""


class Fault(Exception):
    """A promise that did not hold."""


@dataclass(slots=True)
class Figures:
    """What one transport went through."""

    transport: str
    seed: int
    frames: int = 0
    valid: int = 0
    answered: int = 0
    replies: int = 0
    errors: int = 0
    mb_early: float = 0.0
    mb_late: float = 0.0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list[str])

    @property
    def holds(self) -> bool:
        """Whether every promise held."""
        return not self.faults and self.answered == self.valid > 0


def memory_mb(pid: int) -> float:
    """What a process holds in memory now; 0 where that cannot be told."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def judge(figures: Figures, journal: Path, exit_code: int | None) -> None:
    """Look at what the hub left behind, and write down what should not be there."""
    text = journal.read_text("utf-8", errors="replace")
    if "Traceback" in text:
        figures.faults.append("a traceback in the journal: " + text[text.index("Traceback") :][:2000])
    if exit_code != 0:
        figures.faults.append(f"it ended with {exit_code}: {text[-500:]}")
    if figures.answered != figures.valid:
        figures.faults.append(f"{figures.valid - figures.answered} valid requests were not answered")
    if figures.mb_late - figures.mb_early > GROWTH_MB:
        figures.faults.append(f"memory grew from {figures.mb_early:.0f} to {figures.mb_late:.0f} MB")
