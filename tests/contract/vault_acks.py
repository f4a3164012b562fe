"""Holds a brain against what its writers were told: nothing acknowledged is lost, nothing is torn, all verifies."""

from collections.abc import Iterable, Sequence
from hashlib import sha256

from limen.brain.documents.vault import Vault
from limen.errors import NotFound


def blocks(output: bytes) -> Sequence[Sequence[tuple[str, str, str]]]:
    """Acknowledgements, each the lines of one set of changes; one that is cut off was never heard."""
    found: list[list[tuple[str, str, str]]] = [[]]
    for line in output.decode().split("\n")[:-1]:
        if line == "ok":
            found.append([])
        else:
            kind, path, value = line.split(" ", 2)
            found[-1].append((kind, path, value))
    return [block for block in found[:-1] if block != [("open", "-", "-")]]


class Expected:
    """What a brain must hold after these acknowledgements, and one unknown step more for each writer."""

    def __init__(self) -> None:
        self.acknowledged = 0
        self.failed: list[str] = []
        self._held: dict[str, str] = {}
        self._lines: set[str] = set()

    def hear(self, output: bytes) -> None:
        """Take up what one process said."""
        for block in blocks(output):
            if block[0][0] == "FAILED":
                self.failed.append(" ".join(block[0]))
                continue
            self.acknowledged += 1
            for kind, path, value in block:
                if kind == "line":
                    self._lines.add(value)
                elif kind == "gone":
                    self._held.pop(path, None)
                    self._held[path] = ""
                else:
                    self._held[path] = value

    def problems(self, vault: Vault, unknown: Iterable[str] = ()) -> list[str]:
        """What is lost or wrong; a change that was under way when its writer died may have happened or not.

        `unknown` are the names of those writers: their documents may also be as the journal's newest commits say.
        """
        wrong = list(vault.verify())
        later = self._later(vault, set(unknown))
        for path, checksum in self._held.items():
            try:
                present = vault.get(path).checksum_sha256
            except NotFound:
                present = ""
            if present != checksum and later.get(path) != present:
                wrong.append(f"{path}: acknowledged {checksum[:12] or 'gone'}, is {present[:12] or 'gone'}")
            if present and sha256(vault.read(path)).hexdigest() != present:
                wrong.append(f"{path}: torn")
        lines = vault.read("shared.md").decode().split() if vault.exists("shared.md") else []
        wrong += [f"line lost: {line}" for line in self._lines - set(lines)]
        if len(lines) != len(set(lines)):
            wrong.append("lines were written twice")
        return wrong

    def _later(self, vault: Vault, unknown: set[str]) -> dict[str, str]:
        """Path -> checksum after the very last commit of each writer that died."""
        found: dict[str, str] = {}
        seen: set[str] = set()
        before: int | None = None
        while unknown - seen and (commits := vault.commits(before=before, limit=100)):
            before = commits[-1].seq
            for commit in commits:
                if commit.actor in unknown - seen:
                    seen.add(commit.actor)
                    for op in commit.operations:
                        found.setdefault(op.path, op.checksum_sha256)
                        if op.old_path:
                            found.setdefault(op.old_path, "")
        return found
