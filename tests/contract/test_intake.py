"""Files that come in together are taken in as if each had come alone."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from limen.brain.brains import open_brains
from limen.brain.openbrain import OpenBrain
from limen.brain.records import IngestReport
from limen.brain.retrieval.search import SearchRequest
from limen.brain.rules import BrainRules
from limen.errors import LimenError, Unreadable
from tests.requirements import requirement

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]


@pytest.fixture
async def brain(tmp_path: Path) -> AsyncGenerator[OpenBrain]:
    """An empty brain."""
    async with open_brains(tmp_path, BrainRules(watches=False)) as brains:
        await brains.create("files")
        yield await brains.open()


async def take_all(brain: OpenBrain, *files: tuple[str, bytes]) -> list[IngestReport | LimenError]:
    """Take these in at once; each from a place of its own."""
    outcomes: dict[int, IngestReport | LimenError] = {}

    async def take(number: int, name: str, content: bytes) -> None:
        try:
            outcomes[number] = await brain.ingest_bytes(name, content, None, origin=f"place {number}", actor="tester")
        except LimenError as error:
            outcomes[number] = error

    async with asyncio.TaskGroup() as group:
        for number, (name, content) in enumerate(files):
            group.create_task(take(number, name, content))
    return [outcomes[number] for number in range(len(files))]


@requirement("ingest.once")
async def test_the_same_content_twice_at_once_is_one_document(brain: OpenBrain) -> None:
    first, second, other = await take_all(brain, ("a.md", b"# One"), ("b.md", b"# One"), ("c.md", b"# Two"))
    assert isinstance(first, IngestReport)
    assert isinstance(second, IngestReport)
    assert isinstance(other, IngestReport)
    assert (first.reused, second.reused, other.reused) == (False, True, False)
    assert second.document_id == first.document_id != other.document_id
    assert brain.store.count() == 2


async def test_different_files_of_one_name_get_paths_of_their_own(brain: OpenBrain) -> None:
    reports = await take_all(brain, *[("same.md", f"# Number {number}".encode()) for number in range(5)])
    paths = {report.path for report in reports if isinstance(report, IngestReport)}
    assert len(paths) == 5
    assert {brain.store.read(path) for path in paths} == {f"# Number {number}".encode() for number in range(5)}


async def test_one_that_cannot_be_read_harms_none_of_the_others(brain: OpenBrain) -> None:
    files = [(f"f{number}.md", f"# Fact {number}\n\nzebra{number}".encode()) for number in range(10)]
    files[4] = ("bad.md", b"")
    outcomes = await take_all(brain, *files)
    assert isinstance(outcomes[4], Unreadable)
    assert sum(isinstance(outcome, IngestReport) for outcome in outcomes) == 9
    found = await brain.search(SearchRequest(query="zebra7"))
    assert [hit.path for hit in found.hits][:1] == ["raw/documents/f7.md"]


async def test_who_stops_waiting_leaves_the_rest_alone(brain: OpenBrain) -> None:
    async def take(number: int) -> IngestReport:
        return await brain.ingest_bytes(f"f{number}.md", b"# %d" % number, None, origin=str(number), actor="tester")

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(take(number)) for number in range(20)]
        await asyncio.sleep(0)
        tasks[3].cancel()
    reports = [task.result() for number, task in enumerate(tasks) if number != 3]
    assert len({report.path for report in reports}) == 19
    again = await take(21)
    assert again.status == "completed"
