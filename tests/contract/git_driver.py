"""A process that writes into a brain and lets git follow, until it is done or killed; tells each accepted commit."""

import sys
from pathlib import Path

from limen.brain.documents.vault import open_vault
from limen.brain.git.follower import GitFollower
from limen.brain.records import BrainId, ChangeSet, Write


def main(root: Path, name: str, count: int) -> None:
    """Write `count` versions over a few documents, and say of each one that it is accepted."""
    vault = open_vault(root, BrainId("brn_test"))
    follower = GitFollower(vault, root)
    follower.start()
    for number in range(count):
        write = Write(f"{name}/{number % 5}.md", f"{name} {number}\n".encode())
        commit = vault.commit(ChangeSet(changes=[write], actor=name, reason="write"))
        sys.stdout.write(f"{commit.id} {write.path} {number}\n")
        sys.stdout.flush()
        if number % 7 == 0:
            # Without it one long step would carry everything, and a kill would hardly ever meet one.
            follower.catch_up(0)
    follower.close()
    vault.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
