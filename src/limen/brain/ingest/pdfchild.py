"""A child's whole life: a PDF comes in on stdin, its pages go out on stdout as lines of JSON. For `pdf`."""

import sys
from typing import TYPE_CHECKING

from limen.brain.ingest.confined import confine, tell

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument  # pyright: ignore[reportMissingTypeStubs] - typed inline, in part


def main() -> None:
    """Read one PDF."""
    # Where it is used; this module is also imported by checks that must not load it.
    from pypdfium2 import PdfDocument, PdfiumError  # pyright: ignore[reportMissingTypeStubs]

    confine(int(sys.argv[1]))
    try:
        _tell_pages(PdfDocument(sys.stdin.buffer.read()))
    except PdfiumError as error:
        tell({"fault": str(error)})


def _tell_pages(document: "PdfDocument") -> None:
    count = len(document)
    tell({"pages": count})
    for number in range(count):
        page = document[number]
        try:
            text: str = page.get_textpage().get_text_bounded()  # pyright: ignore[reportUnknownMemberType]
        finally:
            page.close()
        tell({"page": number + 1, "text": text})
    about = document.get_metadata_dict()
    tell({"title": about.get("Title", ""), "created": about.get("CreationDate", "")})


if __name__ == "__main__":
    main()
