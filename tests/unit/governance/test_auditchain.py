"""The arithmetic of the chain, without a database."""

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from limen.governance.auditchain import GENESIS, HASH_BYTES, link
from tests.requirements import requirement

BODIES = st.lists(st.binary(max_size=30), max_size=10)


@requirement("audit.chained")
def test_each_hash_covers_its_body_and_the_hash_before_it() -> None:
    _, start = GENESIS
    first = sha256(start + b"one").digest()
    assert link(start, [b"one", b"two"]) == [first + b"one", sha256(first + b"two").digest() + b"two"]


@requirement("audit.chained")
@given(BODIES, BODIES)
def test_rows_are_the_same_however_they_are_batched(one: list[bytes], other: list[bytes]) -> None:
    _, start = GENESIS
    rows = link(start, one)
    middle = rows[-1][:HASH_BYTES] if rows else start
    assert rows + link(middle, other) == link(start, one + other)
