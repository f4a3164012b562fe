"""What a part of the campaign counts, and what it found wrong."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Tally:
    """Figures and faults."""

    figures: Counter[str] = field(default_factory=Counter[str])
    longest_s: dict[str, float] = field(default_factory=dict[str, float])
    wrong: list[str] = field(default_factory=list[str])

    def took(self, what: str, seconds: float) -> None:
        """Remember the longest time something took."""
        self.longest_s[what] = max(self.longest_s.get(what, 0.0), round(seconds, 3))

    def blame(self, faults: list[str], where: str) -> None:
        """Note what is wrong, and where."""
        self.wrong += [f"{where}: {fault}" for fault in faults]
