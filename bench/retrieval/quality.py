"""Puts each collection into a brain of its own, as a user would, and asks every question through its search."""

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.retrieval.datasets import Collection, Source
from bench.retrieval.metrics import Scores
from limen.brain.brains import open_brains
from limen.brain.openbrain import OpenBrain
from limen.brain.records import ChangeSet, Write
from limen.brain.retrieval.search import Hit, SearchRequest
from limen.brain.rules import BrainRules
from limen.models.ports import Embedder

__all__ = ["Intake", "measure"]

BATCH = 200
HITS = 100
SESSIONS = 5


class Intake:
    """What going in took, over all collections."""

    def __init__(self) -> None:
        self.documents = 0
        self.places = 0
        self.cpu_s = 0.0
        self.disk_bytes = 0


async def measure(collection: Collection, embedder: Embedder, scores: Scores, intake: Intake) -> None:
    """Take the documents in, then ask."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_brains(Path(folder), BrainRules()) as brains:
            await brains.create(collection.id)
            brain = await brains.open()
            begun = time.process_time()
            for at in range(0, len(collection.sources), BATCH):
                changes = [
                    Write(source.path, source.content.encode()) for source in collection.sources[at : at + BATCH]
                ]
                await brain.commit(ChangeSet(changes=changes, actor="bench", reason="ingest"))
            intake.cpu_s += time.process_time() - begun
            intake.documents += len(collection.sources)
            intake.places += sum(len(source.places) for source in collection.sources)
            intake.disk_bytes += sum(file.stat().st_size for file in Path(folder).rglob("index.db*"))
            await asyncio.to_thread(brain.git.catch_up, 30.0)
            await _ask(collection, brain, scores)


async def _ask(collection: Collection, brain: OpenBrain, scores: Scores) -> None:
    by_path = {source.path: source for source in collection.sources}
    await brain.search(SearchRequest(query="warm up"))
    for question in collection.questions:
        begun = time.process_time()
        await brain.search(SearchRequest(query=question.text))
        took = time.process_time() - begun
        answer = await brain.search(SearchRequest(query=question.text, limit=HITS))
        ranked = _places(answer.hits, by_path)
        sessions = await brain.search(SearchRequest(query=question.text, limit=SESSIONS, collapse=True))
        grouped = [by_path[hit.path].id for hit in sessions.hits]
        groups = frozenset(collection.owner[place] for place in question.answers)
        scores.add(ranked, grouped, question.answers, groups, question.category, took)


def _places(hits: Sequence[Hit], by_path: dict[str, Source]) -> list[str]:
    """One place for each hit: the one it overlaps most; a place counts where it is first found."""
    found: dict[str, None] = {}
    for hit in hits:
        source = by_path[hit.path]
        best = max(source.places, key=lambda place: min(place.end, hit.end) - max(place.start, hit.start))
        found.setdefault(best.id)
    return list(found)
