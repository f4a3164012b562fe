"""A form with one file gives that file, byte for byte; anything else is refused."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.errors import InvalidArguments
from limen.web.multipart import read_form

BOUNDARY = "a-boundary-nobody-writes"
PARAMETERS = f"boundary={BOUNDARY}"


def a_form(*parts: tuple[str, bytes]) -> bytes:
    """A form of parts: the content of their Content-Disposition, and their value."""
    pieces = [
        f"--{BOUNDARY}\r\nContent-Disposition: form-data; {head}\r\nContent-Type: text/plain\r\n\r\n".encode() + value
        for head, value in parts
    ]
    return b"\r\n".join([*pieces, f"--{BOUNDARY}--\r\n".encode()])


@given(st.binary(max_size=500).filter(lambda content: BOUNDARY.encode() not in content))
def test_a_file_comes_out_as_it_went_in(content: bytes) -> None:
    form = read_form(a_form(('name="as"', b"text"), ('name="file"; filename="a b.md"', content)), PARAMETERS)
    assert (form.content, form.name, form.fields) == (content, "a b.md", {"as": "text"})


@pytest.mark.parametrize("parameters", [f'boundary="{BOUNDARY}"', f"charset=utf-8; boundary={BOUNDARY}"])
def test_the_boundary_is_found_however_it_is_written(parameters: str) -> None:
    assert read_form(a_form(('name="file"; filename="a"', b"x")), parameters).content == b"x"


def test_a_name_in_utf8_is_understood() -> None:
    assert read_form(a_form(("name=\"file\"; filename*=UTF-8''na%C3%AFve.md", b"x")), PARAMETERS).name == "naïve.md"


@pytest.mark.parametrize(
    ("content", "parameters"),
    [
        (b"", PARAMETERS),
        (a_form(('name="file"; filename="a"', b"x")), ""),
        (a_form(('name="file"; filename="a"', b"x"))[:-8], PARAMETERS),
        (a_form(('name="as"', b"text")), PARAMETERS),
        (a_form(('name="a"; filename="a"', b"x"), ('name="b"; filename="b"', b"y")), PARAMETERS),
        (a_form(*[(f'name="f{number}"', b"x") for number in range(20)]), PARAMETERS),
        (a_form(('name="as"', b"a"), ('name="as"', b"b"), ('name="f"; filename="f"', b"x")), PARAMETERS),
        (a_form(('name="as"', b"\xff"), ('name="f"; filename="f"', b"x")), PARAMETERS),
        (a_form(('filename="f"', b"x")), PARAMETERS),
        (f"--{BOUNDARY}\r\nno header\r\n--{BOUNDARY}--".encode(), PARAMETERS),
    ],
)
def test_what_is_no_form_with_one_file_is_refused(content: bytes, parameters: str) -> None:
    with pytest.raises(InvalidArguments):
        read_form(content, parameters)


@given(st.binary(max_size=300))
def test_any_body_is_read_or_refused(content: bytes) -> None:
    with suppress(InvalidArguments):
        read_form(f"--{BOUNDARY}\r\n".encode() + content + f"\r\n--{BOUNDARY}--".encode(), PARAMETERS)
