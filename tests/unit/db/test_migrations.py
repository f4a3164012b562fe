"""How a database is brought up to date, also by several who start at once."""

import threading
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from limen.db.hubsql import HUB_STEPS
from limen.db.migrations import migrate
from limen.db.sqlite import Connection, connect
from limen.errors import StoreUnavailable
from tests.requirements import requirement

ONE = "create table one (x); insert into one values (1)"
TWO = "create table two (x)"


@pytest.fixture
def db(tmp_path: Path) -> Generator[Connection]:
    with closing(connect(tmp_path / "some.db")) as db:
        yield db


def tables(db: Connection) -> list[str]:
    return [name for (name,) in db.execute("select name from sqlite_schema where type = 'table' order by name")]


@requirement("db.migrations")
def test_steps_are_taken_in_order_and_once(db: Connection) -> None:
    migrate(db, [ONE])
    migrate(db, [ONE])
    assert tables(db) == ["one"]
    migrate(db, [ONE, TWO])
    assert tables(db) == ["one", "two"]
    assert db.execute("pragma user_version").fetchone() == (2,)


@requirement("db.migrations")
def test_a_step_that_fails_takes_the_others_with_it(db: Connection) -> None:
    with pytest.raises(StoreUnavailable):
        migrate(db, [ONE, "create table one (x)"])
    assert tables(db) == []
    assert db.execute("pragma user_version").fetchone() == (0,)


@requirement("db.migrations")
def test_a_database_of_a_newer_limen_is_refused(db: Connection) -> None:
    migrate(db, [ONE, TWO])
    with pytest.raises(StoreUnavailable) as caught:
        migrate(db, [ONE])
    assert caught.value.facts == {"version": 2, "known": 1}


@requirement("db.migrations")
def test_several_who_start_at_once_make_one_database(tmp_path: Path) -> None:
    together = threading.Barrier(8)
    failures: list[BaseException] = []

    def begin() -> None:
        try:
            together.wait(5)
            with closing(connect(tmp_path / "hub.db")) as db:
                migrate(db, HUB_STEPS)
                assert db.execute("select seq from audit_head").fetchone() == (0,)
        except BaseException as error:  # noqa: BLE001 - a thread has no other way to tell its test
            failures.append(error)

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert failures == []
