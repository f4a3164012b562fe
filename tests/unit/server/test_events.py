"""Event streams of one session: numbered, replayed within a bound, and never waiting for a slow reader."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.server.events import KEPT_BYTES, LIVE, WAITING_BYTES, EventLog, Reader
from limen.transport.sse import Event, EventParser
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


class Line:
    """What is evicted when a reader falls behind."""

    def __init__(self) -> None:
        self.evicted = 0

    def abort(self) -> None:
        self.evicted += 1


def a_reader(limit: int = 100, line: Line | None = None) -> Reader:
    return Reader(limit, (line or Line()).abort)


async def events(reader: Reader) -> list[Event]:
    """Everything that waits for this reader now."""
    reader.push(b"")
    chunk = await reader.next(5)
    return [event for event in EventParser(10_000).feed(chunk or b"") if isinstance(event, Event)]


async def data(reader: Reader) -> list[str]:
    return [event.data.decode() for event in await events(reader)]


async def test_a_live_reader_hears_what_is_published_while_it_is_attached() -> None:
    log, reader = EventLog(10), a_reader()
    log.publish(LIVE, b"before")
    log.attach(LIVE, reader)
    log.publish(LIVE, b"one")
    log.publish(LIVE, b"two")
    log.publish("7", b"another stream")
    assert await data(reader) == ["one", "two"]


async def test_every_event_has_an_id_of_its_own() -> None:
    log, reader = EventLog(10), a_reader()
    reader.push(log.primer(LIVE))
    log.attach(LIVE, reader)
    for _ in range(5):
        log.publish(LIVE, b"x")
    ids = [event.event_id for event in await events(reader)]
    assert len(set(ids)) == len(ids) == 6


@requirement("stream.primer")
async def test_a_primer_is_an_event_without_data_that_gives_an_id_to_come_back_with() -> None:
    log, reader = EventLog(10), a_reader()
    primer = log.primer(LIVE)
    parser = EventParser(1000)
    assert [(event.data, bool(event.event_id)) for event in parser.feed(primer) if isinstance(event, Event)] == [
        (b"", True)
    ]
    assert parser.retry_ms is not None
    log.publish(LIVE, b"after")
    assert log.replay(parser.last_event_id, reader) == LIVE
    assert await data(reader) == ["after"]


@requirement("stream.replay")
@given(st.lists(st.sampled_from([LIVE, "1", "2"]), max_size=30), st.integers(0, 30), st.integers(1, 40))
async def test_replay_gives_exactly_the_kept_events_of_that_stream_after_that_id(
    streams: list[str], seen: int, capacity: int
) -> None:
    log = EventLog(capacity)
    assert [log.open(), log.open()] == ["1", "2"]
    ids: list[str] = []
    for number, stream in enumerate(streams):
        log.attach(stream, first := a_reader())
        log.publish(stream, b"%d" % number)
        ids.append((await events(first))[0].event_id)
    if not ids:
        return
    place = min(seen, len(ids) - 1)
    reader = a_reader()
    assert log.replay(ids[place], reader) == streams[place]
    kept = range(max(place + 1, len(streams) - capacity), len(streams))
    assert await data(reader) == [str(number) for number in kept if streams[number] == streams[place]]


@requirement("stream.replay")
async def test_after_a_replay_the_reader_hears_what_comes_next() -> None:
    log, first, second = EventLog(10), a_reader(), a_reader()
    log.attach(LIVE, first)
    log.publish(LIVE, b"one")
    log.publish(LIVE, b"two")
    seen = (await events(first))[0].event_id
    log.replay(seen, second)
    log.publish(LIVE, b"three")
    assert await data(second) == ["two", "three"]
    assert first.is_done


@requirement("stream.replay")
async def test_the_replay_of_a_stream_that_has_ended_ends() -> None:
    log, first, second = EventLog(10), a_reader(), a_reader()
    stream = log.open()
    log.attach(stream, first)
    first.push(primer := log.primer(stream))
    log.publish(stream, b"reply", last=True)
    parser = EventParser(1000)
    parser.feed(primer)
    assert log.replay(parser.last_event_id, second) == stream
    chunk = await second.next(5)
    assert b"reply" in (chunk or b"")
    assert await second.next(5) is None


@requirement("stream.replay")
async def test_what_was_kept_for_a_reader_never_counts_as_falling_behind() -> None:
    log, line = EventLog(1000), Line()
    primer = log.primer(LIVE)
    for number in range(500):
        log.publish(LIVE, b"%d" % number)
    parser = EventParser(1000)
    parser.feed(primer)
    reader = a_reader(limit=2, line=line)
    log.replay(parser.last_event_id, reader)
    chunk = await reader.next(5)
    assert len(EventParser(1000).feed(chunk or b"")) == 500
    assert line.evicted == 0


@requirement("stream.replay-own-session")
@pytest.mark.parametrize(
    "change",
    [
        "",
        ".",
        "{0}",
        "{0}.",
        "{0}.{1}",
        ".{1}.{2}",
        "-1.{1}.{2}",
        "99.{1}.{2}",
        "x.{1}.{2}",
        "².{1}.{2}",
        "9{0:09999}.{1}.{2}",
        "{0}.other.{2}",
        "{0}.{1}.{2}.{2}",
        "{0}.{1}.00000000",
    ],
)
async def test_an_id_that_was_never_issued_here_replays_nothing(change: str) -> None:
    log, first, reader = EventLog(10), a_reader(), a_reader()
    log.attach(LIVE, first)
    log.publish(LIVE, b"one")
    log.publish(LIVE, b"two")
    issued = (await events(first))[0].event_id
    number, stream, mark = issued.split(".")
    assert log.replay(change.format(int(number), stream, mark), reader) is None
    assert await data(reader) == []


@requirement("stream.replay-own-session")
async def test_an_id_of_another_session_replays_nothing() -> None:
    ours, theirs, first, reader = EventLog(10), EventLog(10), a_reader(), a_reader()
    theirs.attach(LIVE, first)
    for log in (ours, theirs):
        log.publish(LIVE, b"one")
        log.publish(LIVE, b"two")
    assert ours.replay((await events(first))[0].event_id, reader) is None
    assert await data(reader) == []


@requirement("stream.live")
async def test_the_first_to_listen_hears_what_was_said_before_anyone_did() -> None:
    log, first, second = EventLog(10), a_reader(), a_reader()
    log.publish(LIVE, b"hello")
    log.listen(first)
    log.publish(LIVE, b"more")
    assert await data(first) == ["", "hello", "more"]
    log.listen(second)
    assert await data(second) == [""]


@requirement("stream.replay")
async def test_who_loses_what_was_said_before_anyone_listened_can_ask_for_it_again() -> None:
    log, first, second = EventLog(10), a_reader(), a_reader()
    log.publish(LIVE, b"hello")
    log.listen(first)
    primer = (await events(first))[0].event_id
    assert log.replay(primer, second) == LIVE
    assert await data(second) == ["hello"]


@given(st.text(max_size=30))
async def test_no_event_id_whatever_raises(event_id: str) -> None:
    log = EventLog(10)
    log.publish(LIVE, b"one")
    for odd in (event_id, f"{event_id}.live", f"1.{event_id}", f"1.live.{event_id}"):
        log.replay(odd, a_reader())


@requirement("stream.bounded-buffer")
async def test_the_oldest_events_go_first() -> None:
    log, reader = EventLog(3), a_reader()
    primer = log.primer(LIVE)
    for number in range(10):
        log.publish(LIVE, b"%d" % number)
    parser = EventParser(1000)
    parser.feed(primer)
    log.replay(parser.last_event_id, reader)
    assert await data(reader) == ["7", "8", "9"]


@requirement("stream.bounded-buffer")
async def test_a_few_large_events_are_kept_no_longer_than_many_small_ones() -> None:
    log, reader = EventLog(1000), a_reader()
    parser = EventParser(1000)
    parser.feed(log.primer(LIVE))
    large = b"x" * (KEPT_BYTES // 3)
    for _ in range(5):
        log.publish(LIVE, large)
    log.replay(parser.last_event_id, reader)
    replayed = await reader.next(5)
    assert replayed is not None
    assert replayed.count(b"data:") == 2


@requirement("stream.slow-reader")
async def test_a_reader_behind_by_too_many_bytes_is_dropped() -> None:
    log, line = EventLog(10), Line()
    slow = a_reader(limit=100, line=line)
    log.attach(LIVE, slow)
    log.publish(LIVE, b"x" * (WAITING_BYTES + 1))
    assert line.evicted == 0, "one large event is no reason"
    log.publish(LIVE, b"y")
    assert (line.evicted, slow.is_done) == (1, True)


@requirement("stream.slow-reader")
async def test_a_reader_that_falls_behind_is_dropped_and_never_waited_for() -> None:
    log, line = EventLog(100), Line()
    slow, other = a_reader(limit=3, line=line), a_reader()
    log.attach(LIVE, slow)
    for _ in range(3):
        log.publish(LIVE, b"x")
    assert line.evicted == 0
    for _ in range(3):
        log.publish(LIVE, b"x")
    assert (line.evicted, slow.is_done) == (1, True)
    assert await slow.next(5) is None
    log.attach(LIVE, other)
    log.publish(LIVE, b"next")
    assert await data(other) == ["next"]


@requirement("stream.keepalive")
async def test_a_quiet_stream_carries_comments_and_then_goes_on() -> None:
    reader = a_reader()
    comments = [await reader.next(0.001), await reader.next(0.001)]
    assert all(comment and comment.startswith(b":") for comment in comments)
    assert EventParser(100).feed(b"".join(comment or b"" for comment in comments)) == []
    reader.push(b"data: x\n\n")
    assert await reader.next(5) == b"data: x\n\n"


async def test_a_reader_that_is_finished_still_hands_out_what_waits() -> None:
    reader = a_reader()
    reader.push(b"one")
    reader.finish()
    reader.push(b"too late")
    assert [await reader.next(5), await reader.next(5)] == [b"one", None]


async def test_a_second_reader_of_a_stream_ends_the_first() -> None:
    log, first, second = EventLog(10), a_reader(), a_reader()
    log.attach(LIVE, first)
    log.attach(LIVE, second)
    log.publish(LIVE, b"x")
    assert first.is_done
    assert await first.next(5) is None
    assert await data(second) == ["x"]


async def test_a_reader_that_was_replaced_cannot_detach_its_successor() -> None:
    log, first, second = EventLog(10), a_reader(), a_reader()
    log.attach(LIVE, first)
    log.attach(LIVE, second)
    log.detach(LIVE, first)
    assert not second.is_done


async def test_closing_ends_every_reader() -> None:
    log, live, post = EventLog(10), a_reader(), a_reader()
    log.attach(LIVE, live)
    log.attach(log.open(), post)
    log.close()
    assert (live.is_done, post.is_done) == (True, True)
