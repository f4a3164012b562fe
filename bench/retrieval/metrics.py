"""What is said of a ranking: recall, mean reciprocal rank, nDCG; averaged over questions, by category and in all."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Scores", "percentile"]

CUTS = (5, 10, 20)


@dataclass(slots=True)
class Scores:
    """The figures of one way to search, collected question by question."""

    name: str
    rows: list[dict[str, float]] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(  # noqa: PLR0913 - one question has as many facts
        self,
        ranked: Sequence[str],
        grouped: Sequence[str],
        wanted: frozenset[str],
        groups: frozenset[str],
        category: str,
        cpu_s: float,
    ) -> None:
        """Take in one question: places in the order found, documents in the order found, and what was wanted."""
        row = {f"recall@{cut}": len(wanted & set(ranked[:cut])) / len(wanted) for cut in CUTS}
        row["session@5"] = len(groups & set(grouped[:5])) / len(groups)
        row["mrr"] = next((1 / place for place, found in enumerate(ranked, 1) if found in wanted), 0.0)
        gain = sum(1 / math.log2(place + 1) for place, found in enumerate(ranked[:10], 1) if found in wanted)
        ideal = sum(1 / math.log2(place + 1) for place in range(1, min(len(wanted), 10) + 1))
        row["ndcg@10"] = gain / ideal
        self.rows.append(row)
        self.categories.append(category)
        self.seconds.append(cpu_s)

    def mean(self, figure: str, category: str | None = None) -> float:
        """The average over all questions, or those of a category."""
        found = [row[figure] for row, of in zip(self.rows, self.categories, strict=True) if category in (None, of)]
        return sum(found) / len(found) if found else math.nan


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of them lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else math.nan
