"""Grows one index with synthetic passages and, at each size, adds documents to it and asks it questions.

The questions are asked in a process of their own, which opens the index as a hub would, so that its memory is what a
hub has. Vectors of the passages are noise, because a million real ones take minutes and cost the search the same; the
questions are embedded by the real model.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.retrieval.synthetic import NoiseEmbedder, Synthetic
from limen.brain.index.sqlindex import SqlitePassageIndex

__all__ = ["measure"]

BATCH = 10_000
ADDED = 60
SMALL = 1_000
PER_DOCUMENT = 5


def measure(sizes: Sequence[int]) -> dict[str, Any]:
    """The figures by size, and how they grow."""
    found: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.db"
        source, index = Synthetic(), SqlitePassageIndex(path, NoiseEmbedder())
        have = 0
        for size in (SMALL, *sorted(sizes)):
            begun = time.process_time()
            have = _grow(index, source, have, size)
            grown_s = time.process_time() - begun
            index.settle()
            added_ms = _add(index, source, have)
            have += ADDED * PER_DOCUMENT
            index.settle()
            asked = _ask(path)
            found[size] = {**asked, "add_cpu_ms_p50": added_ms, "disk_mb": round(_size(folder) / 1e6, 1)}
            print(
                f"{size:>9} passages: query p50 {asked['p50_ms']:.2f} ms, p99 {asked['p99_ms']:.2f} ms "
                f"(CPU p50 {asked['cpu_p50_ms']:.2f}), {asked['resident_mib']:.0f} MiB resident; "
                f"one document added in {added_ms:.2f} ms CPU; {found[size]['disk_mb']} MB on disk; "
                f"grown in {grown_s:.0f} s CPU",
                flush=True,
            )
        index.close()
    return {"sizes": found, **_growth(found)}


def _growth(found: dict[int, dict[str, float]]) -> dict[str, float]:
    ordered = sorted(size for size in found if size != SMALL)
    first, last = ordered[0], ordered[-1]
    return {
        "size_ratio": last / first,
        "query_cpu_ratio": round(found[last]["cpu_p50_ms"] / found[first]["cpu_p50_ms"], 2),
        "add_cpu_ratio": round(found[last]["add_cpu_ms_p50"] / found[SMALL]["add_cpu_ms_p50"], 2),
    }


def _grow(index: SqlitePassageIndex, source: Synthetic, have: int, size: int) -> int:
    while have < size:
        step = min(BATCH, size - have)
        applied = index.applied()
        pages = list(source.pages(step, first=have // PER_DOCUMENT))
        index.apply(pages, [], above=applied, upto=applied + 1)
        have += step
    return have


def _add(index: SqlitePassageIndex, source: Synthetic, have: int) -> float:
    took: list[float] = []
    for number in range(ADDED):
        page = source.page(have // PER_DOCUMENT + number)
        applied = index.applied()
        begun = time.thread_time()
        index.apply([page], [], above=applied, upto=applied + 1)
        took.append(time.thread_time() - begun)
    return round(median(took) * 1000, 3)


def _ask(path: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.retrieval.probe", str(path)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def _size(folder: str) -> int:
    return sum(file.stat().st_size for file in Path(folder).iterdir())
