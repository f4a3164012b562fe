"""A damaged index says so: after flipped bits every answer is right or `IndexBroken`, and it can be made anew."""

import os
import random
import shutil
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from limen.brain.index.ports import Page
from limen.brain.index.sqlindex import SqlitePassageIndex
from limen.db.sqlite import connect
from limen.errors import IndexBroken
from tests.contract.index_samples import (
    WORDS,
    MemoryPassageIndex,
    Picture,
    WordEmbedder,
    a_page,
    assert_same,
    picture,
    put,
)
from tests.requirements import requirement

EMBEDDER = WordEmbedder()
QUERY = EMBEDDER.embed(["amber cedar fjord"])[0]
COMMITS = 40
PASSIVE, TRUNCATE = 0, 3


def some_pages(seed: int) -> Sequence[Page]:
    draw = random.Random(seed)
    return [
        a_page(f"d{draw.randrange(25)}", *(" ".join(draw.choices(WORDS, k=30)) for _ in range(draw.randrange(1, 4))))
        for _ in range(2)
    ]


@pytest.fixture(scope="module")
def pictures() -> Sequence[Picture]:
    """What the oracle shows after each commit."""
    oracle = MemoryPassageIndex(EMBEDDER)
    found: list[Picture] = []
    for number in range(COMMITS + 1):
        if number:
            put(oracle, *some_pages(number))
        with oracle.view() as view:
            found.append(picture(view, QUERY))
    return found


@pytest.fixture(scope="module", params=["in its log", "in the database too", "in the database"])
def crashed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files as a killed process leaves them, with the newest pages at one place or at both."""
    folder = tmp_path_factory.mktemp("sound")
    path = folder / "index.db"
    with closing(SqlitePassageIndex(path, EMBEDDER, fresh_passages=20)) as index:
        for number in range(1, COMMITS + 1):
            put(index, *some_pages(number))
            if number == COMMITS // 2:
                index.settle()
                with closing(connect(path, checksummed=True)) as db:
                    db.wal_checkpoint(mode=TRUNCATE)
        with closing(connect(path, checksummed=True)) as db:
            if request.param != "in its log":
                db.wal_checkpoint(mode=PASSIVE)
            gone = "*-wal" if request.param == "in the database" else "*-shm"
            shutil.copytree(folder, folder / "files", ignore=shutil.ignore_patterns("files", "*-shm", gone))
    return folder / "files"


def flip(fd: int, draw: random.Random, bits: int) -> None:
    """Flip bits of an open file: to close one that SQLite uses would drop its locks."""
    size = os.fstat(fd).st_size
    for _ in range(bits if size else 0):
        offset = draw.randrange(size)
        (byte,) = os.pread(fd, 1, offset)
        os.pwrite(fd, bytes([byte ^ 1 << draw.randrange(8)]), offset)


@contextmanager
def opened(*files: Path) -> Generator[Sequence[int]]:
    found = [os.open(file, os.O_RDWR) for file in files]
    yield found
    for fd in found:
        os.close(fd)


def answers_are_right(path: Path, pictures: Sequence[Picture]) -> bool:
    """Whether it answered at all; an answer that no state of the index ever had fails the test."""
    with closing(SqlitePassageIndex(path, EMBEDDER, fresh_passages=20)) as index:
        try:
            with index.view() as view:
                assert_same(picture(view, QUERY), pictures[view.applied])
        except IndexBroken:
            return False
        return True


@pytest.mark.slow
@pytest.mark.timeout(120)
@requirement("index.damage")
def test_flipped_bits_are_never_answered_from(tmp_path: Path, crashed: Path, pictures: Sequence[Picture]) -> None:
    answered = 0
    for seed in range(100):
        folder = tmp_path / str(seed)
        shutil.copytree(crashed, folder)
        draw = random.Random(seed)
        files = sorted(file for file in folder.glob("index*") if file.stat().st_size)
        with opened(draw.choice(files)) as (fd,):
            flip(fd, draw, draw.choice([1, 1, 3, 40]))
        answered += answers_are_right(folder / "index.db", pictures)
    # A log that is cut short leaves an earlier state, which is right as far as it goes.
    assert answered < 100 or (crashed / "index.db-wal").exists()


@pytest.mark.slow
@pytest.mark.timeout(120)
@requirement("index.damage")
def test_no_flip_in_the_header_goes_unseen(tmp_path: Path, crashed: Path, pictures: Sequence[Picture]) -> None:
    for place in range(0, 800, 5):
        offset, bit = divmod(place, 8)
        folder = tmp_path / str(place)
        shutil.copytree(crashed, folder)
        data = bytearray((folder / "index.db").read_bytes())
        data[offset] ^= 1 << bit
        (folder / "index.db").write_bytes(data)
        answers_are_right(folder / "index.db", pictures)


@pytest.mark.slow
@pytest.mark.timeout(60)
@requirement("index.damage")
def test_bits_that_flip_under_an_open_index_are_never_answered_from(
    tmp_path: Path, pictures: Sequence[Picture]
) -> None:
    for seed in range(15):
        path = tmp_path / str(seed) / "index.db"
        draw = random.Random(seed)
        with closing(SqlitePassageIndex(path, EMBEDDER, fresh_passages=20)) as index:
            put(index, *some_pages(1))
            with opened(path, path.with_name("index.db-wal"), *path.parent.glob("*.vectors")) as files:
                spoil(index, draw, files, pictures)


def spoil(index: SqlitePassageIndex, draw: random.Random, files: Sequence[int], pictures: Sequence[Picture]) -> None:
    for number in range(2, COMMITS + 1):
        try:
            put(index, *some_pages(number))
            if number % 4 == 0:
                flip(draw.choice(files), draw, 5)
            with index.view() as view:
                assert_same(picture(view, QUERY), pictures[number])
        except IndexBroken:
            return


@pytest.mark.parametrize("damage", ["flipped", "cut", "emptied", "no database", "a page of another"])
@requirement("index.damage")
def test_a_broken_index_can_be_made_anew(
    tmp_path: Path, crashed: Path, pictures: Sequence[Picture], damage: str
) -> None:
    folder = tmp_path / "brain"
    shutil.copytree(crashed, folder)
    path = folder / "index.db"
    (folder / "index.db-wal").unlink(missing_ok=True)
    damages: dict[str, Callable[[bytes], bytes]] = {
        "flipped": lambda data: bytes(byte ^ 1 for byte in data),
        "cut": lambda data: data[: len(data) // 2],
        "emptied": lambda data: b"",
        "a page of another": lambda data: data[:24576] + data[16384:24576] + data[32768:],
        "no database": lambda data: b"this is no database" * 1000,
    }
    path.write_bytes(damages[damage](path.read_bytes()))
    with closing(SqlitePassageIndex(path, EMBEDDER, fresh_passages=20)) as index:
        with suppress(IndexBroken), index.view() as view:
            assert_same(picture(view, QUERY), pictures[view.applied])
        index.clear()
        for number in range(1, COMMITS + 1):
            put(index, *some_pages(number))
        with index.view() as view:
            assert_same(picture(view, QUERY), pictures[COMMITS])


@requirement("index.damage")
def test_vectors_that_are_gone_are_noticed(tmp_path: Path, pictures: Sequence[Picture]) -> None:
    path = tmp_path / "index.db"
    with closing(SqlitePassageIndex(path, EMBEDDER)) as index:
        put(index, *some_pages(1))
    for file in tmp_path.glob("*.vectors"):
        file.unlink()
    assert not answers_are_right(path, pictures)


@requirement("index.damage")
def test_an_index_that_is_emptied_under_its_users_is_made_anew_at_once(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with closing(SqlitePassageIndex(path, EMBEDDER)) as index, index.view():
        put(index, *some_pages(1))
        os.truncate(path, 0)
        with closing(SqlitePassageIndex(path, EMBEDDER)) as other:
            assert other.applied() == 0
            put(other, *some_pages(1))
            assert index.applied() == other.applied() == 1


@requirement("index.damage")
def test_a_log_that_is_gone_under_its_users_is_noticed(tmp_path: Path, pictures: Sequence[Picture]) -> None:
    path = tmp_path / "index.db"
    with closing(SqlitePassageIndex(path, EMBEDDER)) as index, index.view():
        put(index, *some_pages(1))
        (tmp_path / "index.db-wal").unlink()
        assert not answers_are_right(path, pictures)


@requirement("index.damage")
def test_vectors_of_another_time_are_noticed(tmp_path: Path) -> None:
    path, oracle = tmp_path / "index.db", MemoryPassageIndex(EMBEDDER)
    put(oracle, a_page("d1", "amber cedar"))
    put(oracle, a_page("d3", "delta fjord"))
    with oracle.view() as view:
        right = picture(view, QUERY)
    with closing(SqlitePassageIndex(path, EMBEDDER)) as index:
        put(index, a_page("d1", "amber cedar"))
    before = path.read_bytes()
    with closing(SqlitePassageIndex(path, EMBEDDER)) as index:
        put(index, a_page("d2", "garnet harbor"))
    (file,) = tmp_path.glob("*.vectors")
    vectors = file.read_bytes()
    path.write_bytes(before)
    with closing(SqlitePassageIndex(path, EMBEDDER)) as index:
        put(index, a_page("d3", "delta fjord"))
    file.write_bytes(vectors)
    assert not answers_are_right(path, [right] * 3)


@requirement("index.damage")
def test_a_log_of_another_index_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with closing(SqlitePassageIndex(path, None)) as index:
        put(index, a_page("d1", "amber cedar"))
        log = path.with_name("index.db-wal").read_bytes()
        index.clear()
        put(index, a_page("d3", "delta fjord"))
    path.with_name("index.db-wal").write_bytes(log)
    with closing(SqlitePassageIndex(path, None)) as index, pytest.raises(IndexBroken), index.view():
        pass


@requirement("index.damage")
def test_vectors_of_an_index_that_is_gone_go_too(tmp_path: Path) -> None:
    with closing(SqlitePassageIndex(tmp_path / "index.db", EMBEDDER)) as index:
        put(index, *some_pages(1))
        before = set(tmp_path.glob("*.vectors"))
        index.clear()
        put(index, *some_pages(2))
        assert len(before) == len(set(tmp_path.glob("*.vectors"))) == 1
        assert not before & set(tmp_path.glob("*.vectors"))
