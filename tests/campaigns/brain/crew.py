"""Processes that write to one brain: forked from this one, which spares starting an interpreter for each of thousands.

Each writes its acknowledgements to a file of its own, so that they outlive it. None of this may run in a process that
has threads or an open brain.
"""

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from limen.brain.documents.vault import open_vault
from limen.brain.git.follower import GitFollower
from limen.brain.records import BrainId
from tests.contract.vault_driver import drive, say

BRAIN = BrainId("campaign")


@dataclass(slots=True)
class Crew:
    """A process group of writers on one brain."""

    root: Path
    acks: Path
    """The folder of their acknowledgements."""
    names: list[str] = field(default_factory=list[str])
    pids: list[int] = field(default_factory=list[int])

    def hire(self, name: str, *, count: int, threads: int, follow: bool) -> None:
        """Start one process; its threads write as `name-0`, `name-1` and so on."""
        self.names += [f"{name}-{thread}" for thread in range(threads)]
        pid = os.fork()
        if pid == 0:
            _become(lambda: _write(self.root, self.acks / name, name, count, threads, follow=follow), self.pids)
        # In both, because nobody knows who comes first.
        with suppress(OSError):
            os.setpgid(pid, self.pids[0] if self.pids else pid)
        self.pids.append(pid)

    def kill(self) -> None:
        """End all of them in the middle of whatever they do."""
        os.killpg(self.pids[0], signal.SIGKILL)
        self.wait()

    def wait(self) -> int:
        """Wait until all have ended; how many failed."""
        failed = [pid for pid in self.pids if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0]
        self.pids.clear()
        return len(failed)

    def heard(self) -> list[bytes]:
        """What each process said."""
        return [path.read_bytes() for path in sorted(self.acks.iterdir())]


def _become(work: Callable[[], None], group: list[int]) -> None:
    status = 1
    try:
        os.setpgid(0, group[0] if group else 0)
        work()
        status = 0
    finally:
        os._exit(status)


def _write(root: Path, acks: Path, name: str, count: int, threads: int, *, follow: bool) -> None:
    said = os.open(acks, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(said, 1)
    vault = open_vault(root, BRAIN)
    follower = GitFollower(vault, root) if follow else None
    if follower is not None:
        follower.start()
    say(["open - -"])
    workers = [threading.Thread(target=drive, args=(vault, f"{name}-{worker}", count)) for worker in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if follower is not None:
        follower.close()
    vault.close()
