"""How SQLite is opened and what a transaction promises; on real files, because files are what this part is about."""

import threading
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
    many,
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
