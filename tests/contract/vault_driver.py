"""A process that writes to a brain until it is killed or done, and says on stdout what was acknowledged.

`python -m tests.contract.vault_driver ROOT NAME COUNT THREADS`: each thread writes, appends to, moves and deletes
documents of its own, and appends to one that all share. A line is `KIND PATH CHECKSUM`, or `FAILED CODE`.
"""

import hashlib
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random

from limen.brain.documents.vault import Vault, open_vault
from limen.brain.records import Append, BrainId, Change, ChangeSet, Delete, Rename, Write
from limen.errors import LimenError


def errands(name: str, rng: Random) -> Iterator[tuple[list[Change], list[str]]]:
    """Endless sets of changes, each with the lines that tell of it once it is acknowledged."""
    held: dict[str, bytes] = {}
    number = 0
    while True:
        number += 1
        path = f"{name}/{rng.randrange(40)}.md"
        content = f"# {name} {number}\n".encode() * rng.choice((1, 10, 300))
        line = f"{name}:{number}\n".encode()
        match rng.randrange(10) if path in held else 9:
            case 0:
                del held[path]
                yield [Delete(path)], [f"gone {path} -"]
            case 1:
                held[path] += content
                yield [Append(path, content)], [told(path, held[path])]
            case 2:
                to = f"{name}/moved/{number}.md"
                held[to] = held.pop(path)
                yield [Rename(path, to)], [f"gone {path} -", told(to, held[to])]
            case _:
                other = f"{name}/pair/{rng.randrange(40)}.md"
                held[path] = held[other] = content
                batch: list[Change] = [Write(path, content), Write(other, content), Append("shared.md", line)]
                yield batch, [told(path, content), told(other, content), f"line shared.md {line.decode().strip()}"]


def told(path: str, content: bytes) -> str:
    """The line that says what a path holds."""
    return f"holds {path} {hashlib.sha256(content).hexdigest()}"


def drive(vault: Vault, name: str, count: int) -> None:
    """Make changes, and tell of each."""
    for number, (changes, lines) in enumerate(errands(name, Random(name))):
        if number >= count:
            return
        try:
            vault.commit(ChangeSet(changes=changes, actor=name, reason="drive"))
        except LimenError as error:
            say([f"FAILED {error.code} {error}"])
        else:
            say(lines)


def say(lines: list[str]) -> None:
    """Tell, in one write, so that lines of several threads do not mix and nothing waits in a buffer."""
    os.write(1, ("".join(f"{line}\n" for line in lines) + "ok\n").encode())


def main() -> None:
    """Open the brain and drive it."""
    root, name, count, threads = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    vault = open_vault(root, BrainId("b"))
    say(["open - -"])
    workers = [threading.Thread(target=drive, args=(vault, f"{name}-{worker}", count)) for worker in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    vault.close()


if __name__ == "__main__":
    main()
