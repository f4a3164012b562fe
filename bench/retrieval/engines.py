"""Compares what could keep a brain's words: our segments, SQLite's FTS5 and tantivy, on the same synthetic passages.

    python -m bench.retrieval.engines --sizes 10000,100000

For each size: CPU seconds to take them in, CPU milliseconds to add one document of five passages so that the next query
finds it, CPU milliseconds of a query of eight words (best 200), and the bytes on disk. All CPU, so that other work on
the machine matters less.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import apsw
import numpy as np
import tantivy

from bench.retrieval.metrics import percentile
from bench.retrieval.synthetic import NoiseEmbedder, Synthetic
from limen.brain.analysis import terms_of
from limen.brain.index.ports import Page
from limen.brain.index.sqlindex import SqlitePassageIndex

__all__ = ["main"]

BATCH = 5000
LIMIT = 200
ADDED = 60
ASKED = 60


class Engine(Protocol):
    """What is compared."""

    name: str

    def add(self, pages: Sequence[Page]) -> None:
        """Take these in, so that the next query finds them."""
        ...

    def ask(self, words: Sequence[str]) -> int:
        """How many of the best were found."""
        ...

    def rest(self) -> None:
        """Do what is due after much was taken in."""
        ...


class Ours:
    """The index of this project."""

    def __init__(self, folder: Path, *, has_vectors: bool) -> None:
        self.name = "limen with vectors" if has_vectors else "limen words only"
        self._embedder = NoiseEmbedder() if has_vectors else None
        self._index = SqlitePassageIndex(folder / "index.db", self._embedder)

    def add(self, pages: Sequence[Page]) -> None:
        applied = self._index.applied()
        assert self._index.apply(pages, [], above=applied, upto=applied + 1)

    def ask(self, words: Sequence[str]) -> int:
        terms = [term for word in words for term in terms_of(word)]
        with self._index.view() as view:
            columns = view.columns
            scores = np.zeros(len(columns.length), dtype=np.float32)
            for found in view.postings("content", terms):
                rarity = np.float32(np.log1p(len(scores) / (1 + len(found.ids))))
                counts = found.counts.astype(np.float32)
                norm = np.float32(1.2) * (0.25 + 0.75 / 45 * columns.length[found.ids])
                scores[found.ids] += rarity * counts / (counts + norm)
            best = np.argpartition(-scores, min(LIMIT, len(scores) - 1))[:LIMIT]
            if self._embedder is not None:
                view.nearest(self._embedder.embed(["x"])[0], LIMIT, None)
            return len(best)

    def rest(self) -> None:
        self._index.settle()


class Fts5:
    """SQLite's own full-text index; OR of the words, by bm25."""

    name = "FTS5"

    def __init__(self, folder: Path) -> None:
        self._db = apsw.Connection(str(folder / "fts.db"))
        self._db.execute("pragma journal_mode = wal; pragma synchronous = normal")
        self._db.execute("create virtual table place using fts5(body, tokenize='porter unicode61')")

    def add(self, pages: Sequence[Page]) -> None:
        with self._db:
            rows = ((passage.text,) for page in pages for passage in page.passages)
            self._db.executemany("insert into place (body) values (?)", rows)

    def ask(self, words: Sequence[str]) -> int:
        query = " OR ".join(f'"{word}"' for word in words)
        statement = "select rowid from place where place match ? order by bm25(place) limit ?"
        return len(list(self._db.execute(statement, (query, LIMIT))))

    def rest(self) -> None:
        self._db.execute("insert into place (place) values ('optimize')")


class Tantivy:
    """A Rust engine with pruned queries; a commit for each addition."""

    name = "tantivy"

    def __init__(self, folder: Path) -> None:
        schema = tantivy.SchemaBuilder().add_text_field("body", stored=False, tokenizer_name="en_stem").build()
        self._index = tantivy.Index(schema, path=str(folder))
        self._writer = self._index.writer(heap_size=64_000_000, num_threads=1)

    def add(self, pages: Sequence[Page]) -> None:
        for page in pages:
            for passage in page.passages:
                self._writer.add_document(tantivy.Document(body=passage.text))
        self._writer.commit()
        self._index.reload()

    def ask(self, words: Sequence[str]) -> int:
        query = self._index.parse_query(" ".join(words), ["body"])
        return len(self._index.searcher().search(query, LIMIT).hits)

    def rest(self) -> None:
        self._writer.wait_merging_threads()
        self._writer = self._index.writer(heap_size=64_000_000, num_threads=1)


MADE: dict[str, Callable[[Path], Engine]] = {
    "limen": lambda folder: Ours(folder, has_vectors=True),
    "words": lambda folder: Ours(folder, has_vectors=False),
    "fts5": Fts5,
    "tantivy": Tantivy,
}


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="limen-engines-"))
    yield folder
    shutil.rmtree(folder)


def _timed(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def measure(engine: Engine, size: int, folder: Path) -> str:
    """One line of figures."""
    source = Synthetic()
    taken = 0.0
    for first in range(0, size, BATCH):
        pages = list(source.pages(min(BATCH, size - first), first=first // 5))
        taken += _timed(lambda pages=pages: engine.add(pages))
    taken += _timed(engine.rest)
    added: list[float] = []
    for number in range(ADDED):
        page = source.page(size + number)
        added.append(_timed(lambda page=page: engine.add([page])))
    asked: list[float] = []
    for _ in range(ASKED):
        words = source.question()
        asked.append(_timed(lambda words=words: engine.ask(words)))
    disk = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    one, many = (percentile(added, share) * 1000 for share in (0.5, 0.95))
    quick, slow = (percentile(asked, share) * 1000 for share in (0.5, 0.95))
    return (
        f"{engine.name:20}{size:>10}{size / taken:>12.0f}{one:>9.2f}{many:>9.2f}{quick:>9.2f}{slow:>9.2f}"
        f"{disk / 2**20:>10.0f}"
    )


def main() -> None:
    """Measure all engines at all sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="10000,100000", help="passages")
    parser.add_argument("--engines", default=",".join(MADE), help="which of them")
    options = parser.parse_args()
    print(f"{'':20}{'passages':>10}{'taken in/s':>12}{'add p50':>9}{'p95':>9}{'ask p50':>9}{'p95':>9}{'MiB':>10}")
    for size in map(int, options.sizes.split(",")):
        for name in options.engines.split(","):
            with _folder() as folder:
                print(measure(MADE[name](folder), size, folder), flush=True)


if __name__ == "__main__":
    main()
