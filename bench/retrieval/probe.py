"""Opens an index as a hub does, asks it questions of three to nine words, and prints what they took as JSON."""

import json
import random
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from numpy.typing import NDArray

from bench.retrieval.metrics import percentile
from bench.retrieval.synthetic import NoiseEmbedder, Synthetic
from limen.brain.index.sqlindex import SqlitePassageIndex
from limen.brain.retrieval.search import Searcher, SearchRequest
from limen.models.static import StaticEmbedder

WARM_UP = 20
QUESTIONS = 200


class RealQuestions:
    """The real model under the name of the noise that the passages were given."""

    name = NoiseEmbedder.name
    dimensions = NoiseEmbedder.dimensions

    def __init__(self) -> None:
        self._real = StaticEmbedder()

    def embed(self, texts: Sequence[str]) -> NDArray:
        """Vectors of the real model."""
        return self._real.embed(texts)


def main() -> None:
    """Ask, and tell."""
    embedder, chance = RealQuestions(), random.Random(11)
    index = SqlitePassageIndex(Path(sys.argv[1]), embedder)
    searcher = Searcher(index, embedder)
    source = Synthetic()
    wall: list[float] = []
    cpu: list[float] = []
    for number in range(WARM_UP + QUESTIONS):
        words = " ".join(source.question(chance.randint(3, 9)))
        begun, used = time.perf_counter(), time.process_time()
        searcher.search(SearchRequest(query=words))
        if number >= WARM_UP:
            wall.append(time.perf_counter() - begun)
            cpu.append(time.process_time() - used)
    index.close()
    print(
        json.dumps(
            {
                "p50_ms": round(percentile(wall, 0.5) * 1000, 3),
                "p99_ms": round(percentile(wall, 0.99) * 1000, 3),
                "cpu_p50_ms": round(percentile(cpu, 0.5) * 1000, 3),
                "cpu_p99_ms": round(percentile(cpu, 0.99) * 1000, 3),
                "resident_mib": round(_most_resident_kib() / 1024, 1),
            }
        )
    )


def _most_resident_kib() -> int:
    # What `getrusage` tells begins with the memory of the process that started this one.
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1])


if __name__ == "__main__":
    main()
