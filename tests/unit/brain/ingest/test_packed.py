"""Slides, books and spreadsheets become markdown, within the same limits as everything else."""

import io
import sys
import zipfile
from datetime import datetime

import pytest
from openpyxl import Workbook

from limen.brain.ingest.limits import Budget
from limen.brain.ingest.readers import read
from limen.errors import FileTooLarge, Unreadable
from tests.unit.brain.ingest.samples import docx, epub, packed, paragraph, pptx, slide

CELLS = "".join(f"<a:tc><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:tc>" for text in ("name", "age"))
TABLE = f"<p:graphicFrame><a:tbl><a:tr>{CELLS}</a:tr><a:tr>{CELLS}</a:tr></a:tbl></p:graphicFrame>"
NOTES_RELS = '<Relationships><Relationship Id="n" Target="../notesSlides/notesSlide1.xml"/></Relationships>'
BORN = datetime(1815, 12, 10)  # noqa: DTZ001 - Excel knows no zones
BILLION = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'


def xlsx(rows: list[list[object]], title: str = "Ages") -> bytes:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = title
    for row in rows:
        sheet.append(row)
    book.create_sheet("Empty")
    book.properties.title = "The census"
    book.properties.created = datetime(2022, 3, 4)  # noqa: DTZ001 - Excel knows no zones
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def test_slides_come_in_the_order_they_are_shown_with_tables_and_notes() -> None:
    notes = slide("", "Say it slowly").replace("title", "sldImg")
    more = {"ppt/notesSlides/notesSlide1.xml": notes, "ppt/slides/_rels/slide1.xml.rels": NOTES_RELS}
    reading = read(pptx(slide("Second", "x &amp; y"), slide("First", "one", "two", more=TABLE), entries=more), "a.pptx")
    assert reading.text == (
        "## Slide 1: First\n\n- one\n- two\n\n| name | age |\n| --- | --- |\n| name | age |\n\n"
        "## Slide 2: Second\n\n- x & y\n\nNotes:\n\n- Say it slowly\n"
    )
    assert reading.title == "First"
    assert reading.content_type.endswith("presentationml.presentation")
    assert reading.stored_type == "text/markdown"


def test_a_book_is_read_chapter_by_chapter() -> None:
    told: list[tuple[int, int]] = []
    budget = Budget("a.epub", tell=lambda done, total: told.append((done, total)))
    reading = read(epub("<h1>Ebb</h1><p>Water &amp; moon</p>", "<p>Flood</p>"), "a.epub", budget=budget)
    assert reading.text == "# Ebb\n\nWater & moon\n\nFlood\n"
    assert (reading.title, reading.metadata["date"]) == ("On Tides", "2021-04-05")
    assert reading.content_type == "application/epub+zip"
    assert told == [(1, 2), (2, 2)]


@pytest.mark.timeout(20)
def test_a_spreadsheet_becomes_a_table_for_each_sheet() -> None:
    reading = read(xlsx([["name", "born", "of age"], ["Ada | L", BORN, True], [None, 3.0, 2.5]]), "a.xlsx")
    assert reading.text == (
        "## Ages\n\n| name | born | of age |\n| --- | --- | --- |\n| Ada \\| L | 1815-12-10 | TRUE |\n|  | 3 | 2.5 |\n"
    )
    assert (reading.title, reading.metadata["date"]) == ("The census", "2022-03-04")


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.xlsx", packed({"xl/workbook.xml": "<no/>"})),
        ("a.xlsx", xlsx([["cut", "off"]])[:-40]),
        ("a.xlsx", xlsx([])),
        ("a.pptx", pptx(slide("", ""))),
        ("a.pptx", pptx("<p:broken")),
        ("a.pptx", pptx(f"{BILLION}{slide('&b;')}")),
        ("a.epub", epub("<p></p>")),
        ("a.epub", epub("<p>locked</p>", entries={"META-INF/rights.xml": "<r/>"})),
        ("a.epub", packed({"META-INF/container.xml": "<container/>"})),
        ("a.zip", packed({"readme.txt": "hello"})),
    ],
)
def test_what_is_broken_locked_or_empty_is_refused(name: str, content: bytes) -> None:
    with pytest.raises(Unreadable):
        read(content, name)


@pytest.mark.parametrize(
    "content",
    [
        pptx(slide("x" * 30_000_000)),
        epub("y" * 30_000_000),
        packed({"xl/workbook.xml": "<w/>", "xl/sharedStrings.xml": "z" * 30_000_000}),
    ],
    ids=["pptx", "epub", "xlsx"],
)
def test_bombs_are_stopped_while_they_go_off(content: bytes) -> None:
    with pytest.raises(FileTooLarge, match="as bombs do"):
        read(content, "bomb")


def test_the_outermost_file_decides_what_it_is() -> None:
    word, deck = io.BytesIO(docx(paragraph("outer"))), packed({"ppt/presentation.xml": "<p/>"})
    with zipfile.ZipFile(word, "a", zipfile.ZIP_STORED) as archive:
        archive.writestr("word/embeddings/deck.pptx", deck)
    assert deck in word.getvalue()
    assert read(word.getvalue(), "a.bin").text == "outer\n"


def test_without_the_extra_the_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    content = xlsx([["a"]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(Unreadable, match=r"pip install 'limen\[office\]'"):
        read(content, "a.xlsx")


@pytest.mark.timeout(20)
def test_a_sheet_that_claims_a_million_rows_of_nothing_is_read_at_once() -> None:
    content = io.BytesIO()
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.cell(1, 1, "here")
    sheet.cell(1_048_576, 16_384, "there")
    book.save(content)
    assert (
        read(content.getvalue(), "a.xlsx").text
        == f"## Sheet\n\n| here |{'  |' * 99}\n|{' --- |' * 100}\n|{'  |' * 100}\n"
    )
