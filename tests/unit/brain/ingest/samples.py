"""Files of every kind, made here byte by byte, good and bad."""

import io
import zipfile
from collections.abc import Mapping

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'

P = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    ' xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)


def paragraph(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def docx(body: str, **entries: str | bytes) -> bytes:
    """A Word document with this body; further entries by name, with `__` for `/`."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "word/document.xml", f"<?xml version='1.0'?><w:document {W}><w:body>{body}</w:body></w:document>"
        )
        for name, content in entries.items():
            archive.writestr(name.replace("__", "/") + ".xml", content)
    return packed.getvalue()


def packed(entries: Mapping[str, str | bytes]) -> bytes:
    """An archive of these files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    return content.getvalue()


def slide(title: str, *lines: str, more: str = "") -> str:
    """The XML of one slide."""
    shapes = f'<p:sp><p:nvPr><p:ph type="title"/></p:nvPr>{_said(title)}</p:sp><p:sp><p:nvPr><p:ph/></p:nvPr>'
    return f"<p:sld {P}>{shapes}{''.join(map(_said, lines))}</p:sp>{more}</p:sld>"


def _said(text: str) -> str:
    return f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>"


def pptx(*slides: str, entries: Mapping[str, str] | None = None) -> bytes:
    """A deck that shows its slides in the opposite order of their numbers; further entries by name."""
    numbers = range(1, len(slides) + 1)
    rels = "".join(f'<Relationship Id="r{n}" Target="slides/slide{n}.xml"/>' for n in numbers)
    order = "".join(f'<p:sldId id="{n}" r:id="r{n}"/>' for n in reversed(numbers))
    return packed(
        {
            "ppt/presentation.xml": f"<p:presentation {P}><p:sldIdLst>{order}</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": f"<Relationships>{rels}</Relationships>",
            **{f"ppt/slides/slide{n}.xml": xml for n, xml in zip(numbers, slides, strict=True)},
            **(entries or {}),
        }
    )


def epub(*chapters: str, entries: Mapping[str, str] | None = None) -> bytes:
    """A book of these chapters; further entries by name."""
    numbers = range(1, len(chapters) + 1)
    items = "".join(f'<item id="c{n}" href="text/c%20{n}.xhtml" media-type="application/xhtml+xml"/>' for n in numbers)
    order = "".join(f'<itemref idref="c{n}"/>' for n in numbers)
    about = "<dc:title>On Tides</dc:title><dc:date>2021-04-05</dc:date>"
    lists = f"<manifest>{items}</manifest><spine>{order}</spine>"
    opf = f'<package xmlns:dc="d"><metadata>{about}</metadata>{lists}</package>'
    return packed(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfile full-path="OEBPS/book.opf"/></container>',
            "OEBPS/book.opf": opf,
            **{
                f"OEBPS/text/c {n}.xhtml": f"<html><body>{text}</body></html>"
                for n, text in zip(numbers, chapters, strict=True)
            },
            **(entries or {}),
        }
    )


def pdf(*pages: str, extra: str = "", pages_shared: int = 0) -> bytes:
    """A PDF whose pages say this; `pages_shared` lists the last page that many more times."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids: list[str] = []
    for text in pages:
        stream = "BT /F1 12 Tf 72 700 Td " + " 0 -14 Td ".join(f"({line}) Tj" for line in text.split("\n")) + " ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    kids += kids[-1:] * pages_shared
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    out, places = "%PDF-1.4\n", list[int]()
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    trailer = f"<< /Size {len(objects) + 1} /Root 1 0 R {extra} >>"
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n{trailer}\nstartxref\n"
    place = out.index("xref\n0 ")
    return f"{out}{place}\n%%EOF\n".encode("latin-1")


def endless_pdf() -> bytes:
    """A PDF of one page whose forms each show the next one many times: more work than anybody has time for."""
    levels, times = 12, 10
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [4 0 R] /Count 1 >>"]
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    resources = "<< /Font << /F1 3 0 R >> /XObject << /X {} 0 R >> >>"
    objects.append(
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Resources {resources.format(6)} >>"
    )
    objects.append("<< /Length 5 >>\nstream\n/X Do\nendstream")
    for level in range(levels):
        stream = "/X Do " * times if level < levels - 1 else "BT /F1 12 Tf (again) Tj ET"
        form = f"<< /Type /XObject /Subtype /Form /BBox [0 0 612 792] /Length {len(stream)}"
        objects.append(f"{form} /Resources {resources.format(7 + level)} >>\nstream\n{stream}\nendstream")
    body = "".join(f"{number} 0 obj\n{content}\nendobj\n" for number, content in enumerate(objects, 1))
    return f"%PDF-1.4\n{body}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\n%%EOF\n".encode("latin-1")
