"""Pages: what the index learns of a document besides its words."""

from limen.brain.days import day_number, find_date
from limen.brain.ingest.pages import decode, page_of
from limen.brain.records import BrainId, CommitId, DocumentId, DocumentRecord, Metadata


def a_record(path: str = "memory/global/a.md", *, title: str = "", metadata: Metadata | None = None) -> DocumentRecord:
    return DocumentRecord(
        id=DocumentId("d1"),
        brain_id=BrainId("b1"),
        title=title,
        path=path,
        source="ingest",
        content_type="text/markdown",
        byte_size=1,
        checksum_sha256="0" * 64,
        metadata=metadata or {},
        commit_sha=CommitId("0" * 12),
        created_at="2024-02-03T10:00:00.000Z",
        updated_at="2024-02-04T10:00:00.000Z",
    )


def day(text: str) -> int:
    found = find_date(text)
    assert found is not None
    return day_number(found)


def test_a_page_holds_what_record_path_and_frontmatter_say() -> None:
    content = b"---\ntitle: T\ntype: note\ntags: [x, y]\ndate: 2023-05-08\n---\n# H\n\nbody\n"
    page = page_of(a_record("memory/project/limen/a.md", metadata={"tags": "y,z"}), content)
    assert (page.title, page.kind, page.tags, page.day) == ("T", "note", ["y", "z", "x"], day("2023-05-08"))
    assert (page.scope, page.project, page.trust) == ("project", "limen", "trusted")
    assert [(p.heading, p.text) for p in page.passages] == [("H", "body")]
    assert page.updated_at == "2024-02-04T10:00:00.000Z"


def test_the_title_of_the_record_counts_before_the_text_and_the_name_of_the_file_comes_last() -> None:
    assert page_of(a_record(title="Given"), b"# Other").title == "Given"
    assert page_of(a_record(), b"# Other").title == "Other"
    assert page_of(a_record(), b"text").title == "a"


def test_the_day_comes_from_metadata_then_the_document_then_its_making() -> None:
    content = b"---\ndate: 2023-05-08\n---\n"
    assert page_of(a_record(metadata={"observed_on": "1 June 2022"}), content).day == day("2022-06-01")
    assert page_of(a_record(), content).day == day("2023-05-08")
    assert page_of(a_record("raw/2021-01-02.md"), b"x").day == day("2021-01-02")
    assert page_of(a_record(), b"x").day == day("2024-02-03")


def test_what_came_from_outside_stays_untrusted() -> None:
    assert page_of(a_record(metadata={"trust": "untrusted"}), b"x").trust == "untrusted"
    assert page_of(a_record(), b"---\ntrust: untrusted\n---\n").trust == "trusted"


def test_transcripts_and_documents_that_say_so_are_conversations() -> None:
    short = b"Ann: hi\n\nBob: ho\n"
    assert [p.speaker for p in page_of(a_record("transcripts/a.md"), short).passages] == ["Ann", "Bob"]
    said = b"---\ntype: conversation\n---\n" + short
    assert [p.speaker for p in page_of(a_record(), said).passages] == ["Ann", "Bob"]
    assert [p.speaker for p in page_of(a_record(), short).passages] == [""]


def test_bytes_that_are_not_text_still_make_a_page() -> None:
    content = "caf\xe9 \u6f22".encode("latin-1", "replace") + b"\xff\xfe ok"
    page = page_of(a_record(), content)
    text = decode(content)
    assert all(text[p.start : p.end] == p.text for p in page.passages)
    assert page_of(a_record("raw/a.bin"), b"\0\1\2").document_id == "d1"


def test_broken_frontmatter_is_found_as_text() -> None:
    page = page_of(a_record(), b"---\n- not\n- a mapping\n---\nbody")
    assert "not" in " ".join(p.text for p in page.passages)
