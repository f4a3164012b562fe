"""Writes documents of its own into an index that others write too, and looks for each of them."""

import sys
from contextlib import closing
from pathlib import Path

from limen.brain.index.sqlindex import SqlitePassageIndex
from tests.contract.index_samples import WordEmbedder, a_page


def main(path: str, name: str, count: str) -> None:
    """Write so many."""
    with closing(SqlitePassageIndex(Path(path), WordEmbedder(), fresh_passages=10)) as index:
        for number in range(int(count)):
            page = a_page(f"{name}{number}", "amber birch", "cedar")
            while True:
                before = index.applied()
                if index.apply([page], [], above=before, upto=before + 1):
                    break
            with index.view() as view:
                (found,) = view.postings("about", [f"{name}{number}"])
                assert len(found.ids) == 1


if __name__ == "__main__":
    main(*sys.argv[1:])
