"""Lists a folder of a brain out of the journal; skips whole folders, so that the cost is that of what is shown."""

from collections.abc import Generator, Sequence
from contextlib import closing

from limen.brain.documents.journal import Journal
from limen.brain.paths import is_generated, matches
from limen.brain.records import FileStat

__all__ = ["list_folder"]


def list_folder(  # noqa: PLR0913 - the choices of the port
    journal: Journal, folder: str, *, recursive: bool, glob: str, include_generated: bool, limit: int
) -> Sequence[FileStat]:
    """What lies in a folder, sorted by path; recursively only documents, else folders too."""

    def is_shown(path: str) -> bool:
        name = path.rpartition("/")[2]
        return (include_generated or not is_generated(path)) and (not glob or matches(name, glob))

    found = _documents(journal, folder) if recursive else _entries(journal, folder)
    shown: list[FileStat] = []
    with closing(found):
        for stat in found:
            if is_shown(stat.path):
                shown.append(stat)
                if len(shown) >= limit:
                    break
    return sorted(shown, key=lambda stat: stat.path)


def _documents(journal: Journal, folder: str) -> Generator[FileStat]:
    with closing(journal.beneath(folder)) as rows:
        for path, size, updated_at in rows:
            yield FileStat(path=path, size=size, mtime=updated_at)


def _entries(journal: Journal, folder: str) -> Generator[FileStat]:
    start = len(folder) + 1 if folder else 0
    after: str | None = ""
    while after is not None:
        rows = journal.beneath(folder, after=after)
        after = None
        with closing(rows):
            for path, size, updated_at in rows:
                slash = path.find("/", start)
                if slash < 0:
                    yield FileStat(path=path, size=size, mtime=updated_at)
                    continue
                yield FileStat(path=path[:slash], size=0, mtime=updated_at, is_dir=True)
                # What sorts right behind everything beneath that folder.
                after = f"{path[:slash]}0"
                break
