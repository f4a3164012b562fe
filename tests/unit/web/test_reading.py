"""What a request brings is read in one way or refused with the field that is wrong."""

from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.errors import InvalidArguments, LimenError, TooLarge, Unreadable
from limen.server.responses import Visit
from limen.web.bodies import BatchBody, ListQuery, PathQuery, RememberBody
from limen.web.reading import Gone, read_body, read_key, read_precondition, read_query, read_tags
from limen.web.routes import JSON, OCTETS, Body, Precondition, Upload
from tests.house import a_caller

pytestmark = pytest.mark.anyio

REMEMBER = Body(1000, RememberBody)
RAW = Body(10, raw=(OCTETS, "text/*"), default=OCTETS)


def a_visit(*chunks: bytes | None, **headers: str) -> Visit:
    """A request with these headers, whose body comes in these pieces; None is a client who leaves."""
    messages: list[dict[str, Any]] = [
        {"type": "http.disconnect"} if chunk is None else {"type": "http.request", "body": chunk, "more_body": True}
        for chunk in chunks
    ] + [{"type": "http.request", "body": b"", "more_body": False}]
    waiting = iter(messages)

    async def receive() -> dict[str, Any]:
        return next(waiting)

    async def send(message: dict[str, Any]) -> None:
        raise AssertionError("reading answers nothing")

    heads = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Visit(a_caller(), {"type": "http", "headers": heads}, receive, send)


def field_of(failed: pytest.ExceptionInfo[LimenError]) -> object:
    return failed.value.facts.get("field")


def test_a_query_is_read_as_its_shape_says() -> None:
    assert read_query(b"dir=a%2Fb&recursive=true&glob=%C3%A9*", ListQuery) == ListQuery(
        dir="a/b", recursive=True, glob="é*"
    )
    assert read_query(b"", ListQuery) == ListQuery()


@pytest.mark.parametrize(
    ("query", "field"),
    [
        (b"path=a&colour=red", "colour"),
        (b"path=a&path=b", "path"),
        (b"", "path"),
        (b"path=", "path"),
        (b"path=%ff", "query"),
        (b"path=" + b"a" * 1025, "path"),
        (b"&".join(b"p%d=1" % number for number in range(10_000)), "query"),
    ],
)
def test_a_query_that_is_wrong_names_its_parameter(query: bytes, field: str) -> None:
    with pytest.raises(InvalidArguments) as failed:
        read_query(query, PathQuery)
    assert field_of(failed) == field


@given(st.binary(max_size=200))
def test_any_query_is_read_or_refused(query: bytes) -> None:
    with suppress(InvalidArguments):
        assert read_query(query, PathQuery).path


async def test_json_is_read_as_its_shape_says() -> None:
    visit = a_visit(b'{"no', b'te":"a"}', content_type="Application/JSON; charset=utf-8")
    assert await read_body(visit, REMEMBER) == RememberBody(note="a")


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (b"", "body"),
        (b"{", "body"),
        (b"[]", "body"),
        (b"null", "body"),
        (b"NaN", "body"),
        (b"\xef\xbb\xbf{}", "body"),
        ('{"note":"a"}'.encode("utf-16"), "body"),
        (b'{"note":"\xff"}', "body"),
        (b'{"note":"\\ud800"}', "body"),
        (b'{"note":"\\udc00"}', "body"),
        (b'{"note":1}', "note"),
        (b'{"note":"a","colour":1}', "colour"),
        (b'{"tags":["a",1]}', "tags[1]"),
        (b"[" * 900, "body"),
        (b'{"x":' + b"[" * 900, "x"),
        (b'{"note":' + b"[" * 900, "note"),
    ],
)
async def test_json_that_is_wrong_names_its_field(content: bytes, field: str) -> None:
    with pytest.raises(InvalidArguments) as failed:
        await read_body(a_visit(content, content_type=JSON), REMEMBER)
    assert field_of(failed) == field


@given(st.binary(max_size=300))
async def test_any_body_is_read_or_refused(content: bytes) -> None:
    with suppress(InvalidArguments):
        await read_body(a_visit(content, content_type=JSON), Body(1000, BatchBody))


async def test_bytes_are_taken_as_they_came() -> None:
    visit = a_visit(b"\x00\xff", content_type="text/markdown; charset=latin-1")
    assert await read_body(visit, RAW) == Upload(b"\x00\xff", "text/markdown", "charset=latin-1")
    assert await read_body(a_visit(b"a"), RAW) == Upload(b"a", OCTETS, "")


@pytest.mark.parametrize(
    "media", ["", "text/plain", "application/x-www-form-urlencoded", "json", "multipart/form-data"]
)
async def test_a_body_of_another_type_is_refused(media: str) -> None:
    with pytest.raises(Unreadable):
        await read_body(a_visit(b"{}", **({"content_type": media} if media else {})), REMEMBER)


async def test_a_compressed_body_is_refused_unread() -> None:
    with pytest.raises(Unreadable):
        await read_body(a_visit(None, content_type=JSON, content_encoding="gzip"), REMEMBER)


async def test_a_body_is_measured_before_and_while_it_comes() -> None:
    with pytest.raises(TooLarge):
        await read_body(a_visit(None, content_length="11"), RAW)
    with pytest.raises(TooLarge):
        await read_body(a_visit(b"12345", b"678901", None), RAW)
    assert (await read_body(a_visit(b"12345", b"67890", content_length="10"), RAW)).content == b"1234567890"


async def test_a_client_who_leaves_is_not_answered() -> None:
    with pytest.raises(Gone):
        await read_body(a_visit(b"{", None, content_type=JSON), REMEMBER)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, Precondition()),
        ({"if_match": "*"}, Precondition(if_match=("*",))),
        ({"if_match": '"a"'}, Precondition(if_match=("a",))),
        ({"if_match": ' "a" , W/"b","c"'}, Precondition(if_match=("a", "c"))),
        ({"if_none_match": "*"}, Precondition(if_absent=True)),
        ({"if_match": "*", "if_none_match": "*"}, Precondition(if_match=("*",), if_absent=True)),
    ],
)
def test_preconditions_are_read(headers: dict[str, str], expected: Precondition) -> None:
    assert read_precondition(a_visit(**headers)) == expected
    assert expected.is_given == bool(headers)


@pytest.mark.parametrize(
    "headers",
    [
        {"if_match": "a"},
        {"if_match": '"a'},
        {"if_match": '"a" "b"'},
        {"if_none_match": '"a"'},
        {"if_match": ""},
    ],
)
def test_a_precondition_that_cannot_be_read_is_never_passed_over(headers: dict[str, str]) -> None:
    with pytest.raises(InvalidArguments):
        read_precondition(a_visit(**headers))


@given(st.lists(st.from_regex(r"[!#-~]{0,8}", fullmatch=True), max_size=4))
def test_a_list_of_tags_is_read_back(tags: list[str]) -> None:
    assert read_tags(", ".join(f'"{tag}"' for tag in tags), "x") == tuple(tags)


def test_an_idempotency_key_is_one_visible_word() -> None:
    assert read_key(a_visit()) == ""
    assert read_key(a_visit(idempotency_key="a-1")) == "a-1"
    for key in ("", "a b", "x" * 256):
        with pytest.raises(InvalidArguments):
            read_key(a_visit(idempotency_key=key))


def test_every_shape_refuses_what_it_does_not_name() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"reason": "a", "ops": [{"type": "delete", "path": "a", "to": "b"}]}, BatchBody)
