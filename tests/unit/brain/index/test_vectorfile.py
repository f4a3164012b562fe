"""Vectors in a file of their own: what was never written, or not so, is not taken for one."""

import os
import resource
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from limen.brain.index.vectorfile import VectorFile, vector_file_of
from limen.errors import StoreUnavailable


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return vector_file_of(tmp_path / "index.db", b"\x01" * 16, 3)


def some_rows(count: int) -> NDArray[np.int8]:
    return np.random.default_rng(1).integers(-127, 128, (count, 10)).astype(np.int8)


def test_rows_come_back_by_their_numbers(path: Path) -> None:
    rows = some_rows(5)
    VectorFile(path, 10).write(7, rows)
    found, there = VectorFile(path, 10).read([11, 6, 7, 10_000])
    assert there.tolist() == [True, False, True, False]
    assert np.array_equal(found[[0, 2]], rows[[4, 0]])
    assert not found[[1, 3]].any()


def test_rows_come_back_in_any_order_from_far_apart_and_more_than_once(path: Path) -> None:
    file, rows = VectorFile(path, 10), some_rows(300)
    file.write(5, rows)
    wanted = [304, 5, 6, 7, 250, 5, 1_000_000, 30, 29, 120]
    for _ in range(2):
        found, there = file.read(wanted)
        assert there.tolist() == [number < 305 for number in wanted]
        assert np.array_equal(found[there], rows[[number - 5 for number in wanted if number < 305]])


def test_rows_whose_numbers_are_far_apart_are_not_taken_for_each_other(path: Path) -> None:
    file, rows = VectorFile(path, 10), some_rows(2)
    file.write(3, rows[:1])
    file.write(3 + (1 << 16), rows[1:])
    for number, row in ((3, 0), (3 + (1 << 16), 1), (3, 0)):
        assert np.array_equal(file.read([number])[0][0], rows[row])


def test_a_row_that_was_not_there_is_found_once_it_is_written(path: Path) -> None:
    file, rows = VectorFile(path, 10), some_rows(1)
    assert not file.read([9])[1].any()
    VectorFile(path, 10).write(9, rows)
    assert np.array_equal(file.read([9])[0], rows)


def test_a_vector_of_zeros_is_one(path: Path) -> None:
    file = VectorFile(path, 10)
    file.write(3, np.zeros((1, 10), dtype=np.int8))
    assert file.read([2, 3])[1].tolist() == [False, True]


def test_a_row_may_be_written_again(path: Path) -> None:
    file, rows = VectorFile(path, 10), some_rows(2)
    file.write(1, rows[:1])
    assert np.array_equal(file.read([1])[0], rows[:1])
    file.write(1, rows[1:])
    file.sync()
    assert np.array_equal(file.read([1])[0], rows[1:])


@pytest.mark.parametrize("place", range(7 * 14, 8 * 14, 3))
def test_a_flipped_bit_is_noticed(path: Path, place: int) -> None:
    VectorFile(path, 10).write(7, some_rows(1))
    data = bytearray(path.read_bytes())
    data[place] ^= 16
    path.write_bytes(data)
    with pytest.raises(ValueError, match="not what was kept"):
        VectorFile(path, 10).read([7])


def test_a_row_at_another_place_is_noticed(path: Path) -> None:
    VectorFile(path, 10).write(7, some_rows(1))
    data = path.read_bytes()
    path.write_bytes(data + data[7 * 14 :])
    with pytest.raises(ValueError, match="not what was kept"):
        VectorFile(path, 10).read([8])


@contextmanager
def small_files() -> Generator[None]:
    """No file may grow beyond 4 KiB; refused as an error, without the signal that usually comes with it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_file_that_cannot_grow_is_our_error(path: Path) -> None:
    file = VectorFile(path, 10)
    with small_files(), pytest.raises(StoreUnavailable):
        file.write(1, some_rows(1000))


def test_it_is_readable_by_its_owner_only_and_closed_when_nobody_holds_it(path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    file = VectorFile(path, 10)
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(os.listdir("/dev/fd")) == before + 1
    del file
    assert len(os.listdir("/dev/fd")) == before
