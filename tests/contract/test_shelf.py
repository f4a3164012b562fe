"""Large results on disk: pages are exact, room and time are bounded, and nothing outlives its process."""

import asyncio
import os
import stat
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.calls.call import Call, Capability
from limen.errors import ResourceNotFound
from limen.gateway.pagedtexts import STEP_CHARS, OwnFolder, PagedText
from limen.gateway.shelf import Shelf, ShelfLimits, open_shelf
from tests.house import a_call, a_caller, a_tool
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

TOOL = a_tool("srv__tool")
TEXTS = st.tuples(st.text(min_size=1, max_size=40), st.integers(min_value=1, max_value=4000)).map(lambda t: t[0] * t[1])


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def result(text: str) -> bytes:
    """A tool's result of one text."""
    return msgspec.json.encode({"content": [{"type": "text", "text": text}]})


async def put(shelf: Shelf, text: str, call: Call | None = None, tool: Capability = TOOL) -> str:
    """Have a result kept; its URI."""
    shorter = msgspec.json.decode(await shelf.shorten(call or a_call(tool.name), tool, result(text)))
    return next(block["uri"] for block in shorter["content"] if block["type"] == "resource_link")


async def read(shelf: Shelf, uri: str, subject: str = "local:tester") -> str:
    """One page."""
    call = a_call(uri, kind="resource", method="resources/read", caller=a_caller(subject))
    capability = shelf.find("resource", uri)
    assert capability is not None
    return msgspec.json.decode((await shelf.run(call, capability)).payload)["contents"][0]["text"]


def files(folder: Path) -> list[Path]:
    """All files of all processes."""
    return [path for path in folder.rglob("*") if path.is_file()]


@given(text=TEXTS, offset=st.integers(0, 2 * STEP_CHARS), limit=st.integers(1, 2 * STEP_CHARS))
def test_a_page_is_what_stands_there(
    text: str, offset: int, limit: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kept = PagedText.write(tmp_path_factory.mktemp("pages") / "text", text)
    assert kept.read(offset, limit) == text[offset : offset + limit]
    assert kept.size == len(text.encode())


@requirement("gateway.large-results")
@given(text=TEXTS, share=st.floats(0.05, 2.0))
def test_pages_joined_are_the_whole_text_whatever_the_limit(
    text: str, share: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kept = PagedText.write(tmp_path_factory.mktemp("pages") / "text", text)
    limit = max(1, int(len(text) * share))
    assert "".join(kept.read(offset, limit) for offset in range(0, len(text), limit)) == text


async def test_files_are_for_this_user_only_and_under_random_names(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    async with open_shelf(folder, ShelfLimits(result_bytes=1024)) as shelf:
        uris = {await put(shelf, "x" * 10_000) for _ in range(3)}
        assert len(uris) == 3
        kept = files(folder)
        assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
        assert {stat.S_IMODE(path.parent.stat().st_mode) for path in kept} == {0o700}
    assert list(folder.iterdir()) == []


@requirement("gateway.large-results-owned")
async def test_a_result_is_gone_when_its_time_is_over(tmp_path: Path) -> None:
    clock = Clock()
    async with open_shelf(tmp_path, ShelfLimits(result_bytes=1024, stay_s=60), clock) as shelf:
        uri = await put(shelf, "x" * 10_000)
        clock.now += 59
        assert await read(shelf, f"{uri}?limit=3") == "xxx"
        clock.now += 2
        with pytest.raises(ResourceNotFound):
            await read(shelf, uri)
        async with asyncio.timeout(4):
            while files(tmp_path):  # noqa: ASYNC110 -- a thread removes it, and tells nobody
                await asyncio.sleep(0.005)


async def test_the_oldest_go_first_when_there_is_too_much(tmp_path: Path) -> None:
    async with open_shelf(tmp_path, ShelfLimits(result_bytes=1024, total_bytes=25_000)) as shelf:
        uris = [await put(shelf, str(number) * 10_000) for number in range(4)]
        for uri in uris[:2]:
            with pytest.raises(ResourceNotFound):
                await read(shelf, uri)
        assert [await read(shelf, f"{uri}?limit=1") for uri in uris[2:]] == ["2", "3"]


async def test_what_has_no_room_at_all_is_sent_whole(tmp_path: Path) -> None:
    async with open_shelf(tmp_path, ShelfLimits(result_bytes=1024, total_bytes=5000)) as shelf:
        assert await shelf.shorten(a_call("t"), TOOL, result("x" * 10_000)) == result("x" * 10_000)
        assert files(tmp_path) == []


async def test_a_result_that_cannot_be_written_is_sent_whole(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    shelf = Shelf(blocked / "results", ShelfLimits(result_bytes=1024))
    assert await shelf.shorten(a_call("t"), TOOL, result("x" * 10_000)) == result("x" * 10_000)


@pytest.mark.parametrize("payload", [b'{"content":7}', b'{"content":[7]}', b'{"_meta":{"x":"%b"}}' % (b"y" * 9000)])
async def test_a_result_of_another_shape_is_sent_as_it_is(tmp_path: Path, payload: bytes) -> None:
    padded = payload + b" " * 5000
    async with open_shelf(tmp_path, ShelfLimits(result_bytes=1024)) as shelf:
        assert await shelf.shorten(a_call("t"), TOOL, padded) == padded


@requirement("gateway.large-results-owned")
async def test_another_tenant_of_the_same_name_is_somebody_else(tmp_path: Path) -> None:
    async with open_shelf(tmp_path, ShelfLimits(result_bytes=1024)) as shelf:
        caller = msgspec.structs.replace(a_caller(), tenant="north")
        uri = await put(shelf, "x" * 10_000, a_call("t", caller=caller))
        with pytest.raises(ResourceNotFound):
            await read(shelf, uri)


async def test_a_caller_who_hung_up_leaves_nothing_that_is_not_counted(tmp_path: Path) -> None:
    limits = ShelfLimits(result_bytes=1024, total_bytes=15_000)
    async with open_shelf(tmp_path, limits) as shelf:
        putting = asyncio.get_running_loop().create_task(put(shelf, "x" * 10_000))
        await asyncio.sleep(0)
        putting.cancel()
        await asyncio.wait([putting])
        async with asyncio.timeout(4):
            while not files(tmp_path):  # noqa: ASYNC110 -- nobody waits for it any more
                await asyncio.sleep(0.005)
        await put(shelf, "y" * 10_000)
        async with asyncio.timeout(4):
            while len(files(tmp_path)) > 1:  # noqa: ASYNC110 -- a thread removes it, and tells nobody
                await asyncio.sleep(0.005)


@requirement("gateway.large-results-owned")
async def test_what_a_dead_process_left_is_removed_at_the_start_and_a_living_ones_is_not(tmp_path: Path) -> None:
    dead = tmp_path / "dead"
    dead.mkdir()
    (dead / "text").write_text("left behind")
    alive = OwnFolder(tmp_path)
    kept = PagedText.write(alive.get() / "text", "still needed")
    async with open_shelf(tmp_path, ShelfLimits()):
        assert not dead.exists()
        assert kept.read(0, 100) == "still needed"
    alive.remove()
    assert os.listdir(tmp_path) == []


async def test_paging_through_a_large_result_gives_all_of_it(tmp_path: Path) -> None:
    text = "".join(f"{number} ä " for number in range(100_000))
    async with open_shelf(tmp_path, ShelfLimits()) as shelf:
        uri: str | None = await put(shelf, text)
        pages: list[str] = []
        while uri is not None:
            call = a_call(uri, kind="resource", method="resources/read")
            answer = msgspec.json.decode((await shelf.run(call, TOOL)).payload)
            pages.append(answer["contents"][0]["text"])
            uri = answer["_meta"].get("limen/next")
        assert "".join(pages) == text
