"""Simulated power cuts: what a disk may hold when the power goes at any moment, built from a recording, and opened.

The model, which is harsher than the common file systems: of a file, the bytes that were written before its last
`fsync` are there; of what was written later, any of the sectors of 512 bytes, in any combination, and its length is
what those make it. Of names (files and folders made, renamed, removed) those are there that were done before the last
`fsync` of their folder; of the later ones any, in any combination, but each rename wholly or not at all. A file in a
folder that is not there is gone. Sometimes nothing of what was not synced is kept, sometimes all of it, sometimes each
piece by lot.

The recorded workload writes, appends, moves and deletes in several threads, settles now and then, and has a follower
that says git has everything, so that the journal forgets contents and the files have to carry them alone.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec

from limen.brain.documents.vault import open_vault
from tests.campaigns.brain.crew import BRAIN
from tests.campaigns.brain.recording import Step
from tests.campaigns.brain.tally import Tally
from tests.contract.vault_acks import Expected
from tests.environment import ROOT

SECTOR = 512
CUTS_PER_RECORDING = 30


def run_cuts(tally: Tally, rng: Random, cuts: int) -> None:
    """So many power cuts, on a new recording now and then, or the first thing that is wrong."""
    while tally.figures["cuts"] < cuts and not tally.wrong:
        with tempfile.TemporaryDirectory(prefix="limen-cuts-") as folder:
            steps = _recorded(Path(folder), rng.randrange(2**32))
            for _ in range(min(CUTS_PER_RECORDING, cuts - tally.figures["cuts"])):
                _cut(tally, rng, steps, Path(folder) / f"image-{tally.figures['cuts']}")
        print(f"{tally.figures['cuts']} power cuts", flush=True)


def _recorded(folder: Path, seed: int) -> Sequence[Step]:
    log = folder / "steps"
    command = [sys.executable, "-m", "tests.campaigns.brain.workload", str(folder / "brain"), str(log), str(seed)]
    # A process of its own: the layer beneath SQLite must be there before anything is opened.
    subprocess.run(command, cwd=ROOT, check=True)
    return msgspec.msgpack.decode(log.read_bytes(), type=list[Step])


def _cut(tally: Tally, rng: Random, steps: Sequence[Step], image: Path) -> None:
    upto = rng.randrange(1, len(steps) + 1)
    happened = steps[:upto]
    build(happened, rng, image)
    expected = Expected()
    expected.hear(b"".join(step.data for step in happened if step.kind == "said"))
    where = f"cut at {upto} of {len(steps)}"
    began = time.monotonic()
    vault = open_vault(image, BRAIN, boot="after")
    tally.took("restart_after_cut", time.monotonic() - began)
    tally.figures["cuts"] += 1
    tally.figures["cut_acknowledged"] += expected.acknowledged
    try:
        names = {commit.actor for commit in vault.commits(limit=10_000)} - {"external"}
        head = vault.head()
        if vault.notice() != head:
            newest = vault.commits(limit=1)[0].operations
            tally.blame([f"files are not as the journal has them: {newest}"[:500]], where)
        tally.blame(expected.problems(vault, names), where)
    finally:
        vault.close()


def build(steps: Sequence[Step], rng: Random, image: Path) -> None:
    """Write what the disk holds after these steps and a power cut."""
    chance = rng.choice((0.0, 1.0, 0.5, rng.random()))
    files, folders = _names(steps, rng, chance)
    contents = _contents(steps, rng, chance, set(files.values()))
    image.mkdir()
    for folder in sorted(folders):
        if folder and (image / folder).parent.is_dir():
            (image / folder).mkdir(exist_ok=True)
    for path, file in files.items():
        if (image / path).parent.is_dir() and not (image / path).exists():
            (image / path).write_bytes(contents.get(file, b""))


def _names(steps: Sequence[Step], rng: Random, chance: float) -> tuple[dict[str, int], set[str]]:
    synced = {step.path: at for at, step in enumerate(steps) if step.kind == "sync folder"}

    def is_kept(at: int, path: str) -> bool:
        return at < synced.get(path.rpartition("/")[0], -1) or rng.random() < chance

    files: dict[str, int] = {}
    folders: set[str] = {""}
    for at, step in enumerate(steps):
        match step.kind:
            case "create" if is_kept(at, step.path):
                files[step.path] = step.file
            case "rename" if is_kept(at, step.to):
                if files.get(step.path) == step.file:
                    del files[step.path]
                files[step.to] = step.file
            case "remove" if files.get(step.path) == step.file and is_kept(at, step.path):
                del files[step.path]
            case "make folder" if not step.path or is_kept(at, step.path):
                folders.add(step.path)
            case "remove folder" if is_kept(at, step.path):
                folders.discard(step.path)
            case _:
                pass
    return files, folders


def _contents(steps: Sequence[Step], rng: Random, chance: float, wanted: set[int]) -> dict[int, bytes]:
    synced = {step.file: at for at, step in enumerate(steps) if step.kind == "sync"}
    contents: dict[int, bytearray] = {}
    for at, step in enumerate(steps):
        if step.kind not in ("write", "cut") or step.file not in wanted:
            continue
        held = contents.setdefault(step.file, bytearray())
        is_synced = at < synced.get(step.file, -1)
        if step.kind == "cut":
            if is_synced or rng.random() < chance:
                del held[step.at :]
                held.extend(bytes(step.at - len(held)))
            continue
        for start in range(0, len(step.data), SECTOR):
            if is_synced or rng.random() < chance:
                _put(held, step.at + start, step.data[start : start + SECTOR])
    return {file: bytes(held) for file, held in contents.items()}


def _put(held: bytearray, at: int, data: bytes) -> None:
    if len(held) < at:
        held.extend(bytes(at - len(held)))
    held[at : at + len(data)] = data
