"""What is known of a document: said by its writer, else found in it, else as it was, else made up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.brain.documents.document import describe, flat_metadata
from limen.brain.records import Facts
from limen.errors import InvalidArguments

texts = st.text(st.characters(codec="utf-8"), max_size=700)


@given(path=st.from_regex(r"[a-z]{1,5}(/[a-z.#]{1,8}){0,3}", fullmatch=True), content=st.binary(max_size=700))
def test_every_content_has_a_title_of_at_most_512_characters(path: str, content: bytes) -> None:
    known = describe(path, content, Facts(), None)
    assert 0 < len(known.title) <= 512
    assert known.title == known.title.strip()


@given(title=texts, content=texts)
def test_a_title_is_one_line(title: str, content: str) -> None:
    known = describe("a.md", f"# {content}".encode(), Facts(title=title), None)
    assert known.title
    assert known.title == " ".join(known.title.split())


@given(
    st.dictionaries(
        texts,
        st.one_of(
            texts,
            st.booleans(),
            st.none(),
            st.integers(-(2**63), 2**64 - 1),
            st.floats(allow_nan=False, allow_infinity=False),
        ),
    )
)
def test_metadata_is_written_the_same_whatever_its_order(metadata: dict[str, str | int | float | bool | None]) -> None:
    backwards = dict(reversed(metadata.items()))
    assert flat_metadata(metadata) == flat_metadata(backwards)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), [], {}, b"x"])
def test_metadata_that_json_cannot_carry_is_refused(value: object) -> None:
    with pytest.raises(InvalidArguments) as refused:
        flat_metadata({"a": value})  # pyright: ignore[reportArgumentType] - that is the test
    assert refused.value.facts["field"] == "metadata"
