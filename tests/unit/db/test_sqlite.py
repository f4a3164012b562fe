"""How SQLite is opened and what a transaction promises; on real files, because files are what this part is about."""

import threading
from array import array
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from limen.db.sqlite import (
    Connection,
    checkpoint,
    connect,
    connect_readonly,
    is_busy,
    is_checksummed,
    is_damaged,
    many,
    numbers_of,
    set_patience,
    transaction,
    wal_frames,
)
from limen.errors import StoreUnavailable
from tests.requirements import requirement


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "state" / "some.db"


@pytest.fixture
def db(path: Path) -> Generator[Connection]:
    with closing(connect(path)) as db:
        db.execute("create table words (word text primary key)")
        yield db


def words(path: Path) -> list[str]:
    with closing(connect_readonly(path)) as db:
        return [word for (word,) in db.execute("select word from words order by word")]


def test_a_database_is_opened_the_house_way(db: Connection, path: Path) -> None:
    found = [db.execute(f"pragma {name}").fetchone() for name in ("journal_mode", "synchronous", "foreign_keys")]
    assert found == [("wal",), (2,), (1,)]
    with closing(connect(path, synchronous="NORMAL")) as other:
        assert other.execute("pragma synchronous").fetchone() == (1,)


def test_only_its_owner_may_read_a_database(db: Connection, path: Path) -> None:
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}


@requirement("db.transactions")
def test_a_transaction_is_kept_when_its_block_ends(db: Connection, path: Path) -> None:
    with transaction(db):
        db.execute("insert into words values ('one')")
        assert words(path) == []
    assert words(path) == ["one"]


@requirement("db.transactions")
def test_a_block_that_fails_leaves_nothing_behind(db: Connection, path: Path) -> None:
    def fail() -> None:
        with transaction(db):
            db.execute("insert into words values ('one')")
            raise ValueError("no good")

    with pytest.raises(ValueError, match="no good"):
        fail()
    assert (words(path), db.in_transaction) == ([], False)


@requirement("db.transactions")
def test_a_statement_that_fails_leaves_nothing_behind_and_is_our_error(db: Connection, path: Path) -> None:
    with pytest.raises(StoreUnavailable), transaction(db):
        db.execute("insert into words values ('one'); insert into words values ('one')")
    assert (words(path), db.in_transaction) == ([], False)


@requirement("db.transactions")
def test_a_full_database_leaves_nothing_behind(db: Connection, path: Path) -> None:
    db.execute("pragma max_page_count = 10")
    with pytest.raises(StoreUnavailable) as caught, transaction(db):
        db.execute("insert into words values (hex(zeroblob(100000)))")
    assert caught.value.facts["reason"] == "FullError"
    assert (words(path), db.in_transaction) == ([], False)


def test_one_transaction_may_be_entered_again_and_again(db: Connection, path: Path) -> None:
    again = transaction(db)
    for word in ("one", "two"):
        with again:
            db.execute("insert into words values (?)", (word,))
    assert words(path) == ["one", "two"]


def test_who_finds_the_write_lock_taken_is_told_that_it_is_busy(db: Connection, path: Path) -> None:
    with closing(connect(path, patience_s=0)) as other, transaction(db):
        with pytest.raises(StoreUnavailable) as caught, transaction(other):
            pass
        assert is_busy(caught.value)
        with transaction(other, write=False):
            assert list(other.execute("select word from words")) == []


def test_who_is_patient_waits_for_the_write_lock(db: Connection, path: Path) -> None:
    taken = threading.Event()
    waiting = threading.Event()

    def hold() -> None:
        with closing(connect(path)) as other, transaction(other):
            other.execute("insert into words values ('first')")
            taken.set()
            waiting.wait(5)

    thread = threading.Thread(target=hold)
    thread.start()
    assert taken.wait(5)
    set_patience(db, 0)
    with pytest.raises(StoreUnavailable), transaction(db):
        pass
    set_patience(db, 5)
    waiting.set()
    with transaction(db):
        db.execute("insert into words values ('second')")
    thread.join(5)
    assert words(path) == ["first", "second"]


def test_a_reader_cannot_write_and_makes_no_database(db: Connection, path: Path) -> None:
    with closing(connect_readonly(path)) as reader:
        with pytest.raises(StoreUnavailable) as caught, transaction(reader):
            reader.execute("insert into words values ('one')")
        assert caught.value.facts["reason"] == "ReadOnlyError"
    with pytest.raises(StoreUnavailable):
        connect_readonly(path.with_name("absent.db"))
    assert not path.with_name("absent.db").exists()


@pytest.mark.parametrize("place", ["a file", "under a file"])
def test_what_cannot_be_opened_is_our_error(tmp_path: Path, place: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"this is no database " * 500)
    with pytest.raises(StoreUnavailable):
        connect(file if place == "a file" else file / "some.db")


def test_a_checkpoint_starts_the_log_anew(db: Connection) -> None:
    for number in range(20):
        db.execute("insert into words values (?)", (str(number),))
    before = wal_frames(db)
    assert checkpoint(db, touch="update words set word = word where word = '1'", patience_s=5)
    assert wal_frames(db) < before


def test_a_checkpoint_gives_way_to_a_reader_and_does_not_wait(db: Connection, path: Path) -> None:
    with closing(connect_readonly(path)) as reader, transaction(reader, write=False):
        list(reader.execute("select word from words"))
        db.execute("insert into words values ('one')")
        assert not checkpoint(db, touch="update words set word = word", patience_s=5)


def test_frames_are_counted_whoever_wrote_them(db: Connection, path: Path) -> None:
    before = wal_frames(db)
    with closing(connect(path)) as other:
        other.execute("insert into words values ('one')")
        assert wal_frames(db) > before


def test_many_values_become_rows_in_their_order_and_to_the_byte(db: Connection) -> None:
    values = [b"one", b"", b"\x00\xff", "über".encode(), b"x" * 100_000]
    rows = list(db.execute("select rowid, value, typeof(value) from carray(?)", (many(values),)))
    assert rows == [(number, value, "blob") for number, value in enumerate(values, start=1)]


def test_numbers_become_rows_in_their_order(db: Connection) -> None:
    values = array("q", [3, -1, 2**40])
    assert [value for (value,) in db.execute("select value from carray(?)", (numbers_of(values.tobytes()),))] == [
        3,
        -1,
        2**40,
    ]


@pytest.fixture
def checksummed(tmp_path: Path) -> Path:
    path = tmp_path / "checked.db"
    with closing(connect(path, checksummed=True, page_bytes=8192)) as db:
        assert db.execute("pragma page_size").fetchone() == (8192,)
        db.execute("create table words (word text)")
        with transaction(db):
            for number in range(2000):
                db.execute("insert into words values (?)", (f"word {number}",))
    return path


def read_all(path: Path) -> int:
    with closing(connect(path, checksummed=True)) as db, transaction(db, write=False):
        return len(list(db.execute("select word from words")))


def test_a_checksummed_database_is_read_as_any_other(checksummed: Path) -> None:
    assert read_all(checksummed) == 2000
    with closing(connect_readonly(checksummed, checksummed=True)) as db:
        assert db.execute("select count(*) from words").fetchone() == (2000,)
        assert is_checksummed(db)


@pytest.mark.parametrize("offset", [20, 30, 8192 + 4000, 3 * 8192 - 200])
def test_a_flipped_bit_is_an_error_and_not_a_wrong_row(checksummed: Path, offset: int) -> None:
    data = bytearray(checksummed.read_bytes())
    data[offset] ^= 4
    checksummed.write_bytes(data)
    with pytest.raises(StoreUnavailable) as caught:
        read_all(checksummed)
    assert is_damaged(caught.value)


def test_a_database_without_checksums_is_not_taken_for_one_that_has_them(db: Connection, path: Path) -> None:
    assert not is_checksummed(db)
    with pytest.raises(StoreUnavailable) as caught:
        connect(path, checksummed=True)
    assert is_damaged(caught.value)


def test_who_wants_no_checksums_opens_files_as_before(checksummed: Path, tmp_path: Path) -> None:
    with closing(connect(tmp_path / "plain.db")) as db:
        db.execute("create table words (word)")
        assert not is_checksummed(db)


def test_a_busy_or_full_database_is_not_damaged(db: Connection, path: Path) -> None:
    with closing(connect(path, patience_s=0)) as other, transaction(db):
        with pytest.raises(StoreUnavailable) as caught, transaction(other):
            pass
        assert not is_damaged(caught.value)
