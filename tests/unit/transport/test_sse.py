"""Events survive any way of cutting their bytes, and what is encoded parses back."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from limen.transport.sse import Event, EventParser, Oversized, encode_event

LIMIT = 100

STREAM_PIECES = st.sampled_from(
    [
        b"data: one\n",
        b"data:two\r\n",
        b"data\r",
        b"data: x: y\n",
        b"id: 7\n",
        b"id\n",
        b"id: a\0b\n",
        b"event: message\n",
        b"event: other\r",
        b"retry: 250\n",
        b"retry: soon\n",
        b"retry: 99999999999999999999\n",
        b": comment\n",
        b":" + b"c" * 300 + b"\n",
        b"unknown: field\n",
        b"data: " + b"z" * 300 + b"\n",
        b"data: " + b"y" * 60 + b"\n",
        b"\xef\xbb\xbf",
        b"\n",
        b"\r",
        b"\r\n",
        "data: é☃\n".encode(),
    ]
)


def parse_whole(data: bytes) -> tuple[list[Event | Oversized], str, int | None]:
    parser = EventParser(LIMIT)
    events = parser.feed(data)
    return events, parser.last_event_id, parser.retry_ms


@given(pieces=st.lists(STREAM_PIECES, max_size=30), cuts=st.lists(st.integers(0, 2000), max_size=20))
@example(pieces=[b"\xef\xbb\xbf", b"data: one\n", b"\n"], cuts=[1, 2])
@example(pieces=[b"data: one\n", b"\r\n", b"\r\n"], cuts=[11])
def test_cutting_the_stream_anywhere_gives_the_same_events(pieces: list[bytes], cuts: list[int]) -> None:
    data = b"".join(pieces)
    parser, events, last = EventParser(LIMIT), list[Event | Oversized](), 0
    for cut in sorted(cut for cut in cuts if cut <= len(data)):
        events += parser.feed(data[last:cut])
        last = cut
    events += parser.feed(data[last:])
    assert (events, parser.last_event_id, parser.retry_ms) == parse_whole(data)


@given(
    data=st.text(st.characters(exclude_characters="\r", exclude_categories=["Cs"])).map(str.encode),
    event_id=st.none() | st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"])),
    event=st.none() | st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1),
    retry_ms=st.none() | st.integers(0, 99_999),
)
def test_what_is_encoded_parses_back(
    data: bytes, event_id: str | None, event: str | None, retry_ms: int | None
) -> None:
    parser = EventParser(1_000_000)
    assert parser.feed(encode_event(data, event_id, event, retry_ms)) == [
        Event(data, event or "message", event_id or "")
    ]
    assert parser.retry_ms == retry_ms


@pytest.mark.parametrize("line_end", [b"\n", b"\r", b"\r\n"])
def test_every_line_end_of_the_standard_is_understood(line_end: bytes) -> None:
    data = line_end.join([b"id: 1", b"data: a", b"data: b", b"", b"data: c", b"", b""])
    assert parse_whole(data)[0] == [Event(b"a\nb", "message", "1"), Event(b"c", "message", "1")]


def test_a_primer_sets_the_id_and_carries_empty_data() -> None:
    assert parse_whole(b"id: 4\nretry: 10\ndata:\n\n") == ([Event(b"", "message", "4")], "4", 10)


def test_an_event_without_data_is_not_told_but_its_id_counts() -> None:
    assert parse_whole(b"id: 5\n\n") == ([], "5", None)


def test_an_id_of_an_unfinished_event_does_not_count() -> None:
    assert parse_whole(b"id: 1\ndata: a\n\nid: 2\ndata: b\n")[1] == "1"


def test_an_id_with_nul_is_ignored() -> None:
    assert parse_whole(b"id: 1\n\nid: 2\x00\ndata: x\n\n")[0] == [Event(b"x", "message", "1")]


def test_an_oversized_event_is_told_in_its_place_and_the_next_one_is_read() -> None:
    data = b"id: 8\ndata: " + b"x" * 1000 + b"\n\ndata: next\n\n"
    assert parse_whole(data)[0] == [Oversized("8"), Event(b"next", "message", "8")]


def test_many_small_lines_count_together_against_the_limit() -> None:
    assert parse_whole(b"data: 0123456789\n" * 20 + b"\n")[0] == [Oversized("")]


def test_an_endless_line_takes_no_endless_memory() -> None:
    parser = EventParser(LIMIT)
    for _ in range(1000):
        assert parser.feed(b"data: " + b"x" * 1000) == []
    assert parser.feed(b"\n\n") == [Oversized("")]


@pytest.mark.parametrize(("event_id", "event"), [("a\nb", None), ("a\0b", None), (None, "a\rb")])
def test_an_id_or_name_that_would_be_misread_is_refused(event_id: str | None, event: str | None) -> None:
    with pytest.raises(ValueError, match="must"):
        encode_event(b"{}", event_id, event)
