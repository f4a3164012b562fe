"""What is recorded before a power cut: threads that write, a settler, and a follower that says git has everything.

`python -m tests.campaigns.brain.workload ROOT LOG SEED` leaves the steps in LOG.
"""

import sys
import threading
import time
from pathlib import Path

import msgspec

from limen.brain.documents.vault import Vault, open_vault
from limen.brain.records import BrainId
from tests.campaigns.brain.recording import record
from tests.contract.vault_driver import drive

THREADS = 3
SETS = 60


def main() -> None:
    """Work, then write down what was done."""
    root, log, seed = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    steps = record(root)
    vault = open_vault(root, BrainId("campaign"), boot="before")
    workers = [threading.Thread(target=drive, args=(vault, f"s{seed}-{worker}", SETS)) for worker in range(THREADS)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        follow(vault)
        vault.settle()
        time.sleep(0.02)
    follow(vault)
    log.write_bytes(msgspec.msgpack.encode(list(steps)))
    vault.close()


def follow(vault: Vault) -> None:
    """Say that git has some commits and their contents, so that the journal may forget those."""
    commits = vault.unfollowed(50)
    blobs = {op.checksum_sha256: "0" * 40 for commit in commits for op in commit.operations if op.checksum_sha256}
    if commits:
        vault.mark_followed([commit.seq for commit in commits], "f" * 40, blobs)


if __name__ == "__main__":
    main()
