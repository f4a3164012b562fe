"""Measures writes into a folder of 10,000 documents, git's lag behind steady writers, and taking in 1,000 files.

A write is counted until it is acknowledged: journalled, in place and in the index, vectors included. The thread that
turns the journal into git commits runs beside it and has its own figure, so it rests while single writes are measured.
The peer takes the same files into a bare `git fast-import` and an FTS5 table.
"""

import argparse
import asyncio
import json
import random
import resource
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import apsw

from bench.brain.texts import make_text
from bench.retrieval.metrics import percentile
from limen.brain.brains import open_brains
from limen.brain.openbrain import OpenBrain
from limen.brain.records import ChangeSet, Write
from limen.brain.rules import BrainRules
from limen.models.embedders import open_embedder

FOLDER = "memory/global"
BATCH = 250


async def fill(brain: OpenBrain, count: int, chance: random.Random) -> None:
    """Put documents into one folder, many at a time."""
    for at in range(0, count, BATCH):
        changes = [
            Write(f"{FOLDER}/note-{number:05}.md", make_text(chance, number).encode())
            for number in range(at, min(at + BATCH, count))
        ]
        await brain.commit(ChangeSet(changes=changes, actor="bench", reason="fill"))


async def single_writes(brain: OpenBrain, count: int, chance: random.Random) -> list[float]:
    """CPU of the whole process for each write, one after the other."""
    took: list[float] = []
    for number in range(count):
        text = make_text(chance, number).encode()
        change = ChangeSet(changes=(Write(f"{FOLDER}/new-{number:05}.md", text),), actor="bench", reason="remember")
        begun = time.process_time()
        await brain.commit(change)
        took.append(time.process_time() - begun)
    return took


async def lag(brain: OpenBrain, seconds: float, rate: float, chance: random.Random) -> dict[str, float]:
    """How far git falls behind while documents are written at a steady rate, and what following costs."""
    behind: list[float] = []
    begun, cpu = time.monotonic(), time.process_time()
    number = 0
    while (passed := time.monotonic() - begun) < seconds:
        text = make_text(chance, number).encode()
        change = Write(f"{FOLDER}/steady-{number:05}.md", text)
        await brain.commit(ChangeSet(changes=(change,), actor="bench", reason="remember"))
        behind.append((await asyncio.to_thread(brain.git.lag))[1])
        number += 1
        await asyncio.sleep(max(0.0, number / rate - (time.monotonic() - begun)))
    used = time.process_time() - cpu
    return {
        "writes": number,
        "writes_per_s": round(number / passed, 1),
        "max_lag_s": round(max(behind), 2),
        "p50_lag_s": round(median(behind), 2),
        "cpu_share": round(used / passed, 2),
    }


async def ingest(folder: Path, files: Sequence[Path], embedder: object) -> float:
    """CPU seconds to take the files in, many at once as `limen ingest` does."""
    async with open_brains(folder, BrainRules()) as brains:
        await brains.create("files")
        brain = await brains.open()
        await brain.ingest_bytes("warm-up.md", b"# Warm up", None, origin="bench", actor="bench")
        waiting = asyncio.Semaphore(32)

        async def take(file: Path) -> None:
            async with waiting:
                await brain.ingest_bytes(file.name, file.read_bytes(), None, origin=str(file), actor="bench")

        begun = time.process_time()
        async with asyncio.TaskGroup() as group:
            for file in files:
                group.create_task(take(file))
        return time.process_time() - begun


def bare(folder: Path, files: Sequence[Path]) -> float:
    """CPU seconds for the same files into `git fast-import` and an FTS5 table."""
    own, child = time.process_time(), _children()
    subprocess.run(["git", "init", "-q", "--bare", str(folder / "bare.git")], check=True)
    stream = bytearray()
    for mark, file in enumerate(files, 1):
        content = file.read_bytes()
        stream += b"blob\nmark :%d\ndata %d\n%s\n" % (mark, len(content), content)
    stream += b"commit refs/heads/main\ncommitter b <b@b> 0 +0000\ndata 1\nx\n"
    for mark, file in enumerate(files, 1):
        stream += b"M 100644 :%d %s\n" % (mark, file.name.encode())
    subprocess.run(
        ["git", "fast-import", "--quiet"], cwd=folder / "bare.git", input=bytes(stream), check=True, capture_output=True
    )
    db = apsw.Connection(str(folder / "fts.db"))
    db.execute("create virtual table doc using fts5(body, tokenize='porter unicode61')")
    with db:
        for file in files:
            db.execute("insert into doc (body) values (?)", (file.read_text(),))
    return time.process_time() - own + _children() - child


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def main() -> None:
    """Run everything and print the figures."""
    parser = argparse.ArgumentParser(prog="bench.brain", description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--writes", type=int, default=300)
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rate", type=float, default=50.0)
    options = parser.parse_args()
    chance = random.Random(7)
    embedder = open_embedder("wordllama")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with open_brains(folder / "brains", BrainRules()) as brains:
            await brains.create("bench")
            brain = await brains.open()
            await fill(brain, options.documents, chance)
            await asyncio.to_thread(brain.git.catch_up, 120.0)
            brain.git.close()
            took = await single_writes(brain, options.writes, chance)
            brain.git.start()
            await asyncio.to_thread(brain.git.catch_up, 120.0)
            print(
                f"write at {options.documents} documents: p50 {median(took) * 1000:.2f} ms CPU, "
                f"p99 {percentile(took, 0.99) * 1000:.2f} ms CPU",
                flush=True,
            )
            behind = await lag(brain, options.seconds, options.rate, chance)
            print(f"git behind {behind['writes_per_s']} writes/s: {behind}", flush=True)
        files = []
        (folder / "in").mkdir()
        for number in range(options.files):
            file = folder / "in" / f"file-{number:05}.md"
            file.write_text(make_text(chance, number))
            files.append(file)
        ours = await ingest(folder / "ingest", files, embedder)
        peer = bare(folder, files)
    per_s = options.files / ours
    print(f"ingest: {per_s:.0f} files/s of CPU, bare git and FTS5 {options.files / peer:.0f}, ratio {ours / peer:.1f}")
    print(
        json.dumps(
            {
                "bench": "brain",
                "write_cpu_ms_p50": round(median(took) * 1000, 3),
                "write_cpu_ms_p99": round(percentile(took, 0.99) * 1000, 3),
                "git_max_lag_s": behind["max_lag_s"],
                "git": behind,
                "ingest_files_per_cpu_s": round(per_s, 1),
                "bare_files_per_cpu_s": round(options.files / peer, 1),
                "ingest_cpu_ratio": round(ours / peer, 2),
            }
        )
    )


if __name__ == "__main__":
    asyncio.run(main())
