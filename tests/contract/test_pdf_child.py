"""PDFs are read in a child: what brings PDFium down brings down nothing else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limen.brain.ingest.limits import Budget
from limen.brain.ingest.readers import read
from limen.clock import monotonic
from limen.errors import Unreadable
from tests.requirements import requirement
from tests.unit.brain.ingest.samples import endless_pdf, pdf

pytestmark = pytest.mark.timeout(40)


@pytest.mark.slow
@requirement("ingest.child")
def test_a_file_that_crashes_its_reader_is_unreadable_and_the_next_is_read() -> None:
    with pytest.raises(Unreadable, match="crashed") as told:
        read(endless_pdf(), "bomb.pdf")
    assert told.value.facts["status"] != 0
    assert read(pdf("next"), "a.pdf").text == "next\n"


@requirement("ingest.child")
def test_a_page_without_end_is_given_up_at_the_deadline() -> None:
    with pytest.raises(Unreadable, match="takes longer"):
        read(endless_pdf(), "endless.pdf", budget=Budget("endless.pdf", deadline=monotonic() + 0.3))


@requirement("ingest.child")
def test_pages_are_told_as_they_are_read() -> None:
    told: list[tuple[int, int]] = []
    budget = Budget("a.pdf", tell=lambda done, total: told.append((done, total)))
    read(pdf("one", "two", "three"), "a.pdf", budget=budget)
    assert told == [(1, 3), (2, 3), (3, 3)]


@requirement("ingest.child")
def test_text_beyond_ascii_comes_through() -> None:
    objects = pdf("\\351re").replace(b"/BaseFont /Helvetica", b"/BaseFont /Helvetica /Encoding /WinAnsiEncoding")
    assert read(objects, "a.pdf").text == "ére\n"


@given(st.binary(max_size=200))
@settings(max_examples=5)
@requirement("ingest.child")
def test_no_bytes_break_it(content: bytes) -> None:
    with pytest.raises(Unreadable):
        read(b"%PDF-1.4\n" + content, "a.pdf")
