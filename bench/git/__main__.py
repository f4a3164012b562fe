"""Writes into one big folder at a steady pace and watches git follow.

The baseline makes the same commits as libgit2 offers them: a tree builder, loose objects, one commit each.
CPU is that of the following thread alone, disk what `.git/objects` grew by.
"""

import argparse
import json
import os
import random
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pygit2

from limen.brain.documents.vault import Vault, open_vault
from limen.brain.git.follower import GitFollower
from limen.brain.records import BrainId, ChangeSet, Write

FOLDER = "memory/global"
WORDS = [f"word{number}" for number in range(5000)]
BATCH = 1000


def main() -> None:
    """Measure, print a table, end with one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--plain", type=int, default=30, help="commits of the baseline")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="limen-bench-git-") as folder:
        figures = measure(Path(folder) / "brain", given.files, given.rate, given.seconds)
        figures |= measure_plain(Path(folder) / "plain", given.files, given.plain)
    figures["cpu_ratio"] = round(figures["cpu_ms_per_commit"] / figures["plain_cpu_ms_per_commit"], 3)
    figures["disk_ratio"] = round(figures["disk_kb_per_commit"] / figures["plain_disk_kb_per_commit"], 4)
    for name, value in figures.items():
        print(f"{name:28} {value}")
    print(json.dumps(figures))


def measure(root: Path, files: int, rate: float, seconds: float) -> dict[str, float]:
    """Write at a pace while git follows."""
    vault = open_vault(root, BrainId("brn_bench"))
    follower = GitFollower(vault, root)
    fill(vault, files)
    follower.start()
    follower.catch_up(600)
    thread = next(thread for thread in threading.enumerate() if thread.name == "limen-git")
    disk, cpu, head = size_of(root), cpu_of(thread), vault.head()
    lags: list[tuple[int, float]] = []
    began = time.monotonic()
    count = 0
    while (spent := time.monotonic() - began) < seconds:
        if count < spent * rate:
            write(vault, f"{FOLDER}/doc-{random.randrange(files):06}.md")
            count += 1
            if count % 10 == 0:
                lag = follower.lag()
                lags.append((lag.commits, lag.seconds))
        else:
            time.sleep(0.001)
    follower.catch_up(60)
    commits = vault.head() - head
    made = int(git(root, "rev-list", "--count", "HEAD")) - head
    figures = {
        "writes_per_s": round(commits / seconds, 1),
        "git_commits_per_write": round(made / commits, 3),
        "lag_s_most": round(max(lag[1] for lag in lags), 2),
        "lag_commits_most": max(lag[0] for lag in lags),
        "cpu_ms_per_commit": round((cpu_of(thread) - cpu) * 1000 / commits, 2),
        "disk_kb_per_commit": round((size_of(root) - disk) / 1000 / commits, 2),
        "disk_mb_per_1000_commits": round((size_of(root) - disk) / 1e3 / commits, 2),
        "packs": len(list((root / ".git" / "objects" / "pack").glob("*.pack"))),
    }
    follower.close()
    vault.close()
    began = time.monotonic()
    assert git(root, "status", "--porcelain") == ""
    figures["git_status_s"] = round(time.monotonic() - began, 2)
    assert git(root, "fsck", "--no-dangling", "--connectivity-only") == ""
    return figures


def measure_plain(root: Path, files: int, commits: int) -> dict[str, float]:
    """The same commits by a tree builder."""
    repository = pygit2.init_repository(str(root), initial_head="main")
    builder = repository.TreeBuilder()
    for number in range(files):
        builder.insert(f"doc-{number:06}.md", repository.create_blob(b"%d" % number), pygit2.enums.FileMode.BLOB)
    tree = builder.write()
    who = pygit2.Signature("Limen", "limen@localhost")
    tip = repository.create_commit("refs/heads/main", who, who, "first", tree, [])
    disk, cpu = size_of(root), time.process_time()
    for _ in range(commits):
        builder = repository.TreeBuilder(tree)
        blob = repository.create_blob(text())
        builder.insert(f"doc-{random.randrange(files):06}.md", blob, pygit2.enums.FileMode.BLOB)
        tree = builder.write()
        tip = repository.create_commit("refs/heads/main", who, who, "next", tree, [tip])
    return {
        "plain_cpu_ms_per_commit": round((time.process_time() - cpu) * 1000 / commits, 2),
        "plain_disk_kb_per_commit": round((size_of(root) - disk) / 1000 / commits, 2),
    }


def fill(vault: Vault, files: int) -> None:
    """Many documents in one folder."""
    for at in range(0, files, BATCH):
        changes = [Write(f"{FOLDER}/doc-{number:06}.md", text()) for number in range(at, min(at + BATCH, files))]
        vault.commit(ChangeSet(changes=changes, actor="bench", reason="fill"))


def write(vault: Vault, path: str) -> None:
    """One change of one document."""
    vault.commit(ChangeSet(changes=[Write(path, text())], actor="bench", reason="write"))


def text() -> bytes:
    """A document of about two kilobytes."""
    return " ".join(random.choices(WORDS, k=250)).encode()


def size_of(root: Path) -> int:
    """Bytes of git's objects."""
    return sum(path.stat().st_size for path in (root / ".git" / "objects").rglob("*") if path.is_file())


def cpu_of(thread: threading.Thread) -> float:
    """Seconds of CPU a thread has used."""
    fields = Path(f"/proc/self/task/{thread.native_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def git(root: Path, *arguments: str) -> str:
    """What git says."""
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
