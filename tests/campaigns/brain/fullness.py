"""Fills the disk under a brain, to a different byte each time: a clear refusal, nothing broken, and it works again.

The disk is a `tmpfs` of a few megabytes, which takes the right to mount; without it this part says that it did not run.
"""

import os
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from random import Random

from limen.brain.documents.vault import Vault, open_vault
from limen.brain.records import Append, Change, ChangeSet, Delete, Rename, Write
from limen.errors import LimenError, StoreFull
from tests.campaigns.brain.crew import BRAIN
from tests.campaigns.brain.tally import Tally
from tests.environment import find_program

DISK_BYTES = 8 * 1024 * 1024
MOST_CHANGES = 80
POINTS_PER_BRAIN = 5


def run_fullness(tally: Tally, rng: Random, points: int) -> bool:
    """So many points at which the disk is full; False when none could be tried."""
    mount, umount = find_program("mount"), find_program("umount")
    with tempfile.TemporaryDirectory(prefix="limen-full-") as folder:
        command = [str(mount), "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", folder]
        if mount is None or umount is None or subprocess.run(command, capture_output=True, check=False).returncode:
            return False
        try:
            for number in range(0, points, POINTS_PER_BRAIN):
                _one_brain(tally, rng, Path(folder), f"brain-{number}", min(POINTS_PER_BRAIN, points - number))
                if tally.wrong:
                    break
        finally:
            subprocess.run([str(umount), "-l", folder], check=False)
    return True


def _one_brain(tally: Tally, rng: Random, disk: Path, name: str, points: int) -> None:
    held: dict[str, bytes] = {}
    root = disk / name
    for point in range(points):
        where = f"{name}, point {point}"
        vault = open_vault(root, BRAIN)
        try:
            _fill(tally, rng, vault, disk, held, where)
        finally:
            vault.close()
        again = open_vault(root, BRAIN)
        try:
            _compare(tally, again, held, f"{where}, opened again")
        finally:
            again.close()
    subprocess.run(["rm", "-rf", str(root)], check=True)


def _fill(tally: Tally, rng: Random, vault: Vault, disk: Path, held: dict[str, bytes], where: str) -> None:
    ballast = disk / "ballast"
    free = os.statvfs(disk)
    room = rng.randrange(60) * free.f_frsize
    ballast.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - room)))
    refused = 0
    for _ in range(MOST_CHANGES):
        change, after = _a_change(rng, held)
        try:
            vault.commit(ChangeSet(changes=[change], actor="filler", reason="fill"))
        except StoreFull:
            refused += 1
            if refused > 3:
                break
        except LimenError as error:
            tally.blame([f"unclear refusal: {error.code}: {error}"], where)
            break
        else:
            held.clear()
            held.update(after)
    tally.figures["full_points"] += 1
    tally.figures["full_refused"] += refused
    _compare(tally, vault, held, f"{where}, while full")
    ballast.unlink()
    vault.commit(ChangeSet(changes=[Write("after.md", where.encode())], actor="filler", reason="room"))
    held["after.md"] = where.encode()
    _compare(tally, vault, held, f"{where}, with room")


def _a_change(rng: Random, held: dict[str, bytes]) -> tuple[Change, dict[str, bytes]]:
    after = dict(held)
    path = f"f{rng.randrange(3)}/{rng.randrange(20)}.md"
    content = rng.randbytes(rng.choice((10, 2_000, 9_000, 40_000)))
    match rng.randrange(6) if path in held else 5:
        case 0:
            del after[path]
            return Delete(path), after
        case 1:
            after[path] += content
            return Append(path, content), after
        case 2:
            to = f"g{rng.randrange(50)}/{rng.randrange(20)}.md"
            after[to] = after.pop(path)
            return Rename(path, to), after
        case _:
            after[path] = content
            return Write(path, content), after


def _compare(tally: Tally, vault: Vault, held: dict[str, bytes], where: str) -> None:
    faults: list[str] = list(vault.verify())
    present = {record.path for record in vault.records()}
    if present != held.keys():
        faults.append(f"holds {sorted(present ^ held.keys())} or not")
    for path in present & held.keys():
        with suppress(LimenError):
            if vault.read(path) != held[path]:
                faults.append(f"{path} holds something else")
            continue
        faults.append(f"{path} cannot be read")
    tally.blame(faults, where)
