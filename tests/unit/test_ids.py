"""Identifiers: unique, sortable by time where they should be, unguessable where they must be."""

import re
import time

from limen.ids import Ulids, new_call_id, new_session_id, ulid
from tests.requirements import requirement


def test_a_ulid_is_26_letters_of_crockfords_alphabet() -> None:
    assert all(re.fullmatch(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", ulid()) for _ in range(200))


def test_no_two_call_ids_are_the_same() -> None:
    assert len({new_call_id() for _ in range(5_000)}) == 5_000


def test_a_later_ulid_sorts_after_an_earlier_one() -> None:
    before = ulid()
    moment = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 == moment:
        pass
    assert before[:10] < ulid()[:10]


def test_a_ulid_tells_its_time() -> None:
    alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    before = time.time_ns() // 1_000_000
    told = 0
    for letter in ulid()[:10]:
        told = told * 32 + alphabet.index(letter)
    assert before <= told <= time.time_ns() // 1_000_000


def test_no_ulid_is_given_out_twice_when_the_clock_is_set_back() -> None:
    ulids, now = Ulids(), time.time_ns() // 1_000_000
    moments = [now, now + 1, now, now + 1, now + 5_000, now - 5_000, now, now]
    assert len({ulids.begin(moment) for moment in moments}) == len(moments)


def test_ulids_grow_within_a_millisecond_and_across_them() -> None:
    ulids, now = Ulids(), time.time_ns() // 1_000_000
    drawn = [ulids.begin(moment) for moment in (now, now, now + 1, now + 1, now + 2, now + 3_000)]
    assert drawn == sorted(set(drawn))


@requirement("session.unguessable-id")
def test_session_ids_have_192_random_bits_and_fit_in_a_header() -> None:
    drawn = {new_session_id() for _ in range(5_000)}
    assert len(drawn) == 5_000
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{32}", session_id) for session_id in drawn)
