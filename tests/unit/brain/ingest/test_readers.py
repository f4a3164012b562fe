"""From bytes to text: every kind that can be read, and every file that must be refused."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.brain.chunks import chunk
from limen.brain.ingest.kinds import As
from limen.brain.ingest.limits import MAX_BYTES, Budget
from limen.brain.ingest.readers import read
from limen.brain.markdown import read_frontmatter
from limen.errors import FileTooLarge, Unreadable
from tests.requirements import requirement
from tests.unit.brain.ingest.samples import docx, paragraph, pdf

PAGE = """<!DOCTYPE html><html><head><title>News &amp; more</title>
<meta property="article:published_time" content="2023-05-08T10:00:00Z"><script>var x = "<p>not this</p>"</script></head>
<body><nav><a href="/">Home</a></nav><div class="cookie banner">Accept all</div><main>
<h1>Big <em>news</em></h1><p>First line<br>second line &lt;here&gt;.</p>
<ul><li>one<li>two</ul><ol><li>first</ol><pre>x = 1
  y = 2</pre><table><tr><th>a<th>b</tr><tr><td>1<td>2 | 3</tr></table>
<p hidden>unseen one</p><p style="display: none">unseen two</p><!-- unseen three --></main>
<footer>Imprint</footer></body></html>"""


@requirement("ingest.readers")
def test_markdown_that_is_good_as_it_is_stays_as_it_is() -> None:
    reading = read(b"---\ntitle: T\n---\n# H\n", "a.md")
    assert (reading.text, reading.title, reading.content_type) == (None, "T", "text/markdown")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("\ufeffgr\u00fc\u00dfe".encode(), "gr\u00fc\u00dfe"),
        ("gr\u00fc\u00dfe \u6f22".encode("utf-16"), "gr\u00fc\u00dfe \u6f22"),
        ("gr\u00fc\u00dfe \u6f22".encode("utf-32"), "gr\u00fc\u00dfe \u6f22"),
        ("plain western text".encode("utf-16-le"), "plain western text"),
        ("gr\u00fc\u00dfe".encode("latin-1"), "gr\u00fc\u00dfe"),
        ("\u201cquoted\u201d \u20ac5".encode("cp1252"), "\u201cquoted\u201d \u20ac5"),
        (b"undefined \x81 here", "undefined \x81 here"),
    ],
)
@requirement("ingest.readers")
def test_text_is_understood_in_the_encodings_people_have(content: bytes, text: str) -> None:
    assert read(content, "a.txt").text == text


@pytest.mark.parametrize(
    "claim", ["utf-8", "latin-1", "utf-7", "zlib_codec", "unicode_escape", "no-such", "", "'utf-8'"]
)
@requirement("ingest.readers")
def test_a_claimed_charset_that_lies_does_no_harm(claim: str) -> None:
    declared = f"text/plain; charset={claim}"
    assert (read("gr\u00fc\u00dfe".encode(), "a.txt", declared=declared).text or "gr\u00fc\u00dfe") == "gr\u00fc\u00dfe"
    assert read("gr\u00fc\u00dfe".encode("latin-1"), "a.txt", declared=declared).text == "gr\u00fc\u00dfe"


@requirement("ingest.readers")
def test_a_claimed_charset_that_tells_the_truth_is_used() -> None:
    content = "\u65e5\u672c\u8a9e\u306e\u6587\u7ae0".encode("shift_jis")
    assert (
        read(content, "a.txt", declared="text/plain; charset=Shift_JIS").text == "\u65e5\u672c\u8a9e\u306e\u6587\u7ae0"
    )
    page = b'<html><meta charset="koi8-r"><p>' + "\u043f\u0440\u0438\u0432\u0435\u0442".encode("koi8-r")
    assert read(page, "a.html").text == "\u043f\u0440\u0438\u0432\u0435\u0442\n"


@requirement("ingest.readers")
def test_a_page_becomes_its_main_content_without_what_is_hidden() -> None:
    reading = read(PAGE.encode(), "https://example.org/news", declared="text/html; charset=utf-8")
    assert reading.title == "News & more"
    assert reading.metadata == {"date": "2023-05-08"}
    assert reading.stored_type == "text/markdown"
    assert reading.text is not None
    for unseen in ("unseen", "Home", "Imprint", "Accept", "not this"):
        assert unseen not in reading.text
    assert (
        "# Big news\n\nFirst line\nsecond line <here>.\n\n- one\n- two\n1. first\n\n```\nx = 1\n  y = 2\n```"
        in reading.text
    )
    assert "| a | b |\n| --- | --- |\n| 1 | 2 \\| 3 |" in reading.text


@requirement("ingest.readers")
def test_a_page_of_scripts_alone_says_so() -> None:
    with pytest.raises(Unreadable, match="scripts"):
        read(b"<html><script>render()</script></html>", "a.html")


@pytest.mark.parametrize(
    "unit",
    ["<div>", "<!--", "<a href='", '<a b="', "</p>", "<b><p>", "<table><a>", "<", "<![CDATA[", "<script>", "<td>"],
)
@requirement("ingest.readers")
def test_broken_pages_end_soon(unit: str) -> None:
    try:
        read(b"<html>words " + unit.encode() * 20_000, "a.html")
    except Unreadable:
        pytest.fail("the words in front were lost")


@given(st.text(alphabet=st.sampled_from("<>/!-\"'= abdiptrul&#;\n[]")))
@requirement("ingest.readers")
def test_no_page_breaks_the_reader(page: str) -> None:
    with suppress(Unreadable):
        read(f"<html>{page}".encode(), "a.html")


@requirement("ingest.readers")
def test_a_pdf_is_read_page_by_page() -> None:
    reading = read(pdf("Hello world\nsecond line", "# no heading"), "a.pdf")
    assert reading.text == "## Page 1\n\nHello world\nsecond line\n\n## Page 2\n\n\\# no heading\n"
    assert reading.metadata == {"pages": 2}
    assert reading.content_type == "application/pdf"
    assert read(pdf("alone"), "a.pdf").text == "alone\n"


@pytest.mark.parametrize(
    "content",
    [
        b"%PDF-1.4\n",
        b"%PDF-1.7 garbage" * 100,
        pdf("cut off")[:300],
        pdf(""),
        pdf(
            "secret",
            extra="/Encrypt << /Filter /Standard /V 1 /R 2 /O ("
            + "o" * 32
            + ") /U ("
            + "u" * 32
            + ") /P -4 >> /ID [(a)(a)]",
        ),
    ],
)
@requirement("ingest.readers")
def test_pdfs_that_are_broken_protected_or_without_text_are_refused(content: bytes) -> None:
    with pytest.raises(Unreadable):
        read(content, "a.pdf")


@requirement("ingest.readers")
def test_a_pdf_of_a_hundred_thousand_pages_is_refused_by_its_count() -> None:
    with pytest.raises(Unreadable, match="100,001 pages"):
        read(pdf("again", pages_shared=100_000), "a.pdf")


@requirement("ingest.readers")
def test_reading_ends_when_its_time_or_its_room_is_over() -> None:
    with pytest.raises(Unreadable, match="longer"):
        read(pdf("late"), "a.pdf", budget=Budget("a.pdf", deadline=0.001))
    with pytest.raises(FileTooLarge):
        read(pdf("much"), "a.pdf", budget=Budget("a.pdf", most_chars=3))
    with pytest.raises(FileTooLarge):
        read(b"text", "a.txt", budget=Budget("a.txt", most_chars=3))


HEADING = '<w:pStyle w:val="berschrift1"/>'
ITEM = '<w:numPr><w:ilvl w:val="{}"/><w:numId w:val="1"/></w:numPr>'
STYLES = (
    '<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
    '<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style></w:styles>'
)


@requirement("ingest.readers")
def test_a_word_document_keeps_its_headings_lists_and_tables() -> None:
    cells = "".join(f"<w:tc>{paragraph(text)}</w:tc>" for text in ("a", "b"))
    body = (
        paragraph("\u00dcberschrift", HEADING)
        + paragraph("Text &amp; more")
        + paragraph("one", ITEM.format(0))
        + paragraph("deep", ITEM.format(1))
        + f"<w:tbl><w:tr>{cells}</w:tr><w:tr>{cells}</w:tr></w:tbl>"
        + paragraph("# end")
    )
    core = (
        '<c xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:t="http://purl.org/dc/terms/">'
        "<dc:title>Given</dc:title><t:created>2023-05-08T10:00:00Z</t:created></c>"
    )
    reading = read(docx(body, word__styles=STYLES, docProps__core=core), "a.docx")
    assert reading.text == (
        "# \u00dcberschrift\n\nText & more\n\n- one\n  - deep\n\n| a | b |\n| --- | --- |\n| a | b |\n\n\\# end\n"
    )
    assert (reading.title, reading.metadata) == ("Given", {"date": "2023-05-08"})


@requirement("ingest.readers")
def test_a_zip_bomb_in_a_word_document_is_stopped_while_it_goes_off() -> None:
    with pytest.raises(FileTooLarge, match="200 times"):
        read(docx(paragraph("a" * 30_000_000)), "a.docx")
    with pytest.raises(FileTooLarge, match="unpacked"):
        read(docx(paragraph("word")), "a.docx", budget=Budget("a.docx", most_unpacked=10))
    with pytest.raises(FileTooLarge, match="more than 1 files"):
        read(docx(paragraph("word"), x="y"), "a.docx", budget=Budget("a.docx", most_entries=1))


BILLION = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'


@pytest.mark.parametrize(
    "content",
    [
        docx("</broken>"),
        docx(""),
        docx("<w:p>" * 600 + "</w:p>" * 600),
        docx(paragraph("x"), word__styles=f"{BILLION}<s>&b;</s>"),
        docx(paragraph("x"))[:-30],
        docx(paragraph("x")).replace(b"PK\x01\x02", b"PK\x01\x09"),
        b"PK\x03\x04 word/document.xml",
        b"PK\x03\x04 some other archive",
    ],
)
@requirement("ingest.readers")
def test_word_documents_that_are_broken_or_hostile_are_refused(content: bytes) -> None:
    with pytest.raises(Unreadable):
        read(content, "a.docx")


@requirement("ingest.readers")
def test_json_is_laid_out_and_messages_become_a_conversation() -> None:
    reading = read(b'{"b":"gr\\u00fc\\u00dfe","a":[1,2.5,null]}', "a.json")
    assert reading.stored_type == "application/json"
    assert json.loads(reading.text or "") == {"b": "gr\u00fc\u00dfe", "a": [1, 2.5, None]}
    assert "gr\u00fc\u00dfe" in (reading.text or "")
    parts = [{"type": "text", "text": "hi\nthere?"}, {"type": "image"}]
    said = {
        "title": "Talk: one",
        "date": "8 May 2023",
        "messages": [{"role": "user", "content": parts}, {"role": "assistant", "content": "yo"}],
    }
    reading = read(json.dumps(said).encode(), "a.json")
    text = reading.text or ""
    head = read_frontmatter(text)
    assert head.values == {"type": "conversation", "title": "Talk: one", "date": "2023-05-08"}
    turns = chunk(text, start=head.body, is_conversation=True)
    assert [(p.speaker, p.text[p.label :]) for p in turns] == [("user", "hi\nthere?"), ("assistant", "yo")]


@requirement("ingest.readers")
def test_json_lines_are_json_too() -> None:
    reading = read(b'{"speaker": "Ann", "text": "a"}\n{"speaker": "Bob", "text": "b"}\n', "a.jsonl")
    assert "**Ann:** a\n\n**Bob:** b" in (reading.text or "")


@pytest.mark.parametrize("content", [b"{", b"[1,]", b"NaN", b"[" * 100_000, b"9" * 5000, b'{"a": 1} trailing'])
@requirement("ingest.readers")
def test_broken_json_is_refused_with_the_way_out(content: bytes) -> None:
    with pytest.raises(Unreadable, match="as: text"):
        read(content, "a.json")
    assert read(content, "a.json", as_="text").content_type == "text/plain"


@requirement("ingest.readers")
def test_half_a_character_in_json_does_not_break_what_is_written() -> None:
    assert (read(b'{"a": "\\ud800"}', "a.json").text or "").encode()


@pytest.mark.parametrize(
    ("name", "content", "as_"),
    [
        ("a.md", b"", None),
        ("a.md", b" \n\t", None),
        ("a.md", b"\x89PNG\r\n\x1a\n\0\0", None),
        ("a.md", b"text\0with zeros", None),
        ("a.md", bytes(range(256)) * 4, None),
        ("a.txt", b"\x01\x02\x03\x04\x05\x06" * 50, None),
        ("a.pdf", b"\x00\x01\x02", None),
        ("a.doc", b"\xd0\xcf\x11\xe0 old", None),
        ("a.rtf", b"{\\rtf1 x}", None),
        ("a.zip", b"PK\x03\x04 data", None),
        ("a.gz", b"\x1f\x8b data", None),
        ("a.bin", b"\0\1\2", None),
        ("a.md", b"just text", "pdf"),
        ("a.md", b"%PDF-1.4 x", "markdown"),
        ("a.md", b"%PDF-1.4 x", "json"),
    ],
)
@requirement("ingest.readers")
def test_what_cannot_be_read_is_refused_by_code(name: str, content: bytes, as_: As | None) -> None:
    with pytest.raises(Unreadable) as refused:
        read(content, name, as_=as_)
    assert refused.value.code == "unreadable"


@requirement("ingest.readers")
def test_the_refusal_names_what_can_be_read() -> None:
    with pytest.raises(Unreadable, match="markdown, text, JSON, HTML, PDF, DOCX, PPTX, XLSX and EPUB"):
        read(b"\0\1\2", "a.bin")


@pytest.mark.parametrize(
    ("name", "content", "as_", "content_type"),
    [
        ("a.md", pdf("wrong name"), None, "application/pdf"),
        ("a.pdf", b"only text", None, "text/plain"),
        ("a.pdf", pdf("x"), "pdf", "application/pdf"),
        ("notes", b"# md?", None, "text/plain"),
        ("notes", b"<!doctype html><p>x", None, "text/html"),
        ("notes", b'{"a": 1}', None, "application/json"),
        ("a.txt", b"# md", "markdown", "text/markdown"),
        ("a.html", b"# md", "markdown", "text/markdown"),
        ("a.MD", b"# md", None, "text/markdown"),
        ("a.txt", b"<html><p>x", None, "text/html"),
        ("a.md", b"<html> in markdown", None, "text/markdown"),
        ("a.py", b"print('x')", None, "text/plain"),
        (
            "a.docx",
            docx(paragraph("x")),
            None,
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
    ],
)
@requirement("ingest.readers")
def test_content_decides_then_the_name_and_as_overrides(
    name: str, content: bytes, as_: As | None, content_type: str
) -> None:
    assert read(content, name, as_=as_).content_type == content_type


@requirement("ingest.readers")
def test_what_the_sender_declares_counts_where_the_name_says_nothing() -> None:
    assert read(b"# x", "post", declared="text/markdown").content_type == "text/markdown"
    assert read(b"<p>x", "post", declared="text/html; charset=utf-8").content_type == "text/html"
    assert read(b"# x", "README.md", declared="text/plain").content_type == "text/markdown"
    assert read(b"# x", "README.md", declared="application/octet-stream").content_type == "text/markdown"


@requirement("ingest.readers")
def test_a_file_past_the_limit_is_refused() -> None:
    with pytest.raises(FileTooLarge) as refused:
        read(b"x" * (MAX_BYTES + 1), "a.txt")
    assert refused.value.code == "file_too_large"


@requirement("ingest.readers")
def test_a_line_of_ten_megabytes_is_read() -> None:
    assert read(b"x" * 10_000_000, "a.md").text is None


@requirement("ingest.readers")
def test_broken_frontmatter_is_kept_and_told() -> None:
    reading = read(b"---\na: !!python/object:os.x {}\n---\nbody", "a.md")
    assert reading.text is None
    assert "tags are not allowed" in str(reading.metadata["warning"])


@given(st.binary(), st.sampled_from(["a.md", "a.txt", "a.json", "a.html", "a.pdf", "a.docx", "a"]))
@requirement("ingest.readers")
def test_no_bytes_break_a_reader(content: bytes, name: str) -> None:
    packed = (b"PK\x03\x04" + entry + content for entry in (b"word/document.xml", b"ppt/presentation.xml"))
    for candidate in (content, *packed, b"PK\x03\x04META-INF/container.xml" + content):
        with suppress(Unreadable, FileTooLarge):
            read(candidate, name)
