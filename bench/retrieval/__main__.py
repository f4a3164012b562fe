"""Measures how well and how quickly a brain finds things: a set of questions, then synthetic passages by the million.

    make bench-retrieval ARGS="../shared/data/locomo_dev.json"

A path is a file of conversations (sessions with dates, turns with ids, questions with the turns that answer them) or a
folder with `corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv`. Every conversation is a brain of its own; a session is
a document, one hit stands for one turn. No network, and no model but the one inside its package.
"""

import argparse
import asyncio
import json
import resource
from pathlib import Path

from bench.retrieval import baselines, quality, scale
from bench.retrieval.datasets import load
from bench.retrieval.metrics import Scores, percentile
from limen.models.embedders import open_embedder

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "locomo_dev.json"
FIGURES = ("recall@5", "recall@10", "recall@20", "session@5", "mrr", "ndcg@10")


def table(scores: dict[str, Scores]) -> None:
    """Every way to search, in all and by category."""
    categories = sorted({name for found in scores.values() for name in found.categories})
    print(f"{'':24}{'n':>6}" + "".join(f"{figure:>11}" for figure in FIGURES))
    for name, found in scores.items():
        for category in (None, *(categories if len(categories) > 1 else ())):
            count = sum(category in (None, of) for of in found.categories)
            row = "".join(f"{found.mean(figure, category):>11.4f}" for figure in FIGURES)
            print(f"{name if category is None else '  ' + category:24}{count:>6}{row}")
        p50, p99 = (percentile(found.seconds, share) * 1000 for share in (0.5, 0.99))
        print(f"{'':24}{'':6}  CPU of a query: p50 {p50:.2f} ms, p99 {p99:.2f} ms", flush=True)


async def measure(paths: list[Path]) -> dict[str, object]:
    """Ask all questions of all sets."""
    embedder = open_embedder("wordllama")
    assert embedder is not None
    figures: dict[str, object] = {}
    for path in paths:
        scores, intake = {"limen": Scores("limen")}, quality.Intake()
        for collection in load(path):
            await quality.measure(collection, embedder, scores["limen"], intake)
            baselines.measure(collection, embedder, scores)
        asked = len(scores["limen"].rows)
        print(f"\n{path.name}: {intake.documents} documents, {intake.places} places, {asked} questions")
        table(scores)
        rate = intake.places / intake.cpu_s
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"taken in at {rate:.0f} passages/s of CPU (journal, files, index, vectors); "
            f"index {intake.disk_bytes / 1e6:.1f} MB; at most {peak:.0f} MiB resident so far"
        )
        ours = scores["limen"]
        figures[path.stem] = {
            "questions": len(ours.rows),
            **{name: {figure: round(found.mean(figure), 4) for figure in FIGURES} for name, found in scores.items()},
            "query_cpu_ms_p50": round(percentile(ours.seconds, 0.5) * 1000, 3),
            "query_cpu_ms_p99": round(percentile(ours.seconds, 0.99) * 1000, 3),
            "passages_per_cpu_s": round(rate),
            "index_bytes": intake.disk_bytes,
        }
    return figures


def main() -> None:
    """Run everything and print the figures."""
    parser = argparse.ArgumentParser(
        prog="bench.retrieval", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, help="sets of questions")
    parser.add_argument("--sizes", default="10000,100000,1000000", help="synthetic passages; empty for none")
    options = parser.parse_args()
    paths = options.paths or ([SHARED] if SHARED.exists() else [])
    sets = asyncio.run(measure(paths))
    sizes = [int(size) for size in options.sizes.split(",") if size]
    grown = scale.measure(sizes) if sizes else {}
    first = next(iter(sets.values()), {})
    ours = first.get("limen", {}) if isinstance(first, dict) else {}
    print(
        json.dumps(
            {
                "bench": "retrieval",
                "recall_at_10": ours.get("recall@10"),
                "session_recall_at_5": ours.get("session@5"),
                "sets": sets,
                "scale": grown,
            }
        )
    )


if __name__ == "__main__":
    main()
