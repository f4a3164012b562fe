"""The event stream of a brain: every change once and in order, across reconnects and from other processes."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from limen.transport.sse import Event, EventParser
from tests.requirements import requirement
from tests.road.rest.front import Rest, open_rest, told

pytestmark = pytest.mark.anyio

WRITER = """
import sys
from pathlib import Path
from limen.brain.records import BrainId, ChangeSet, Write
from limen.brain.documents.vault import open_vault
vault = open_vault(Path(sys.argv[1]), BrainId(sys.argv[2]))
for number in range(int(sys.argv[3])):
    change = Write(f"other/{number}.md", b"text")
    vault.commit(ChangeSet(changes=(change,), actor="local:other", reason="from outside"))
vault.close()
"""


class Listener:
    """One open stream, event by event."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self.last_id = ""
        self._events = self._read()

    async def _read(self) -> AsyncIterator[Event]:
        parser = EventParser(1_000_000)
        async for chunk in self.response.aiter_raw():
            for event in parser.feed(chunk):
                assert isinstance(event, Event)
                yield event

    async def next(self) -> Event:
        async with asyncio.timeout(4):
            event = await anext(self._events)
        self.last_id = event.event_id or self.last_id
        return event

    async def change(self) -> tuple[str, str]:
        """The kind and the path of the next change."""
        while (event := await self.next()).event == "ping":
            pass
        assert event.event == "change"
        data = json.loads(event.data)
        assert data["when"]
        return data["kind"], data["path"]

    async def ended(self) -> bool:
        async with asyncio.timeout(4):
            return [event async for event in self._events] == []


@asynccontextmanager
async def listening(rest: Rest, last_event_id: str | None = None) -> AsyncGenerator[Listener, None]:
    """A stream that has said it is ready."""
    headers = {} if last_event_id is None else {"last-event-id": last_event_id}
    async with rest.hub.client.stream("GET", "/v1/brains/notes/events", headers=headers) as response:
        assert (response.status_code, response.headers["content-type"]) == (200, "text/event-stream")
        assert "no-cache" in response.headers["cache-control"]
        listener = Listener(response)
        ready = await listener.next()
        assert (ready.event, ready.data) == ("ready", b"ok")
        yield listener


@requirement("rest.events-resume")
async def test_every_change_is_told_in_order(rest: Rest) -> None:
    await rest.put("before.md")
    async with listening(rest) as listener:
        await rest.put("a.md", "one")
        await rest.append("a.md", b"two")
        await rest.post("documents/rename", {"from": "a.md", "to": "b.md"})
        await rest.delete("b.md")
        heard = [await listener.change() for _ in range(4)]
    assert heard == [("created", "a.md"), ("updated", "a.md"), ("renamed", "b.md"), ("deleted", "b.md")]


@requirement("rest.events-resume")
async def test_a_change_tells_where_from_and_why(rest: Rest) -> None:
    await rest.put("a.md")
    async with listening(rest) as listener:
        ops = [{"type": "rename", "path": "a.md", "to": "b.md"}]
        await rest.post("documents/batch-ops", {"reason": "tidy up", "ops": ops})
        event = await listener.next()
    data = json.loads(event.data)
    assert (data["kind"], data["path"], data["old_path"], data["reason"]) == ("renamed", "b.md", "a.md", "tidy up")


@requirement("rest.events-resume")
async def test_ids_grow_also_as_text(rest: Rest) -> None:
    async with listening(rest) as listener:
        ids = [listener.last_id]
        ops = [{"type": "write", "path": f"{n}.md", "content_base64": ""} for n in range(12)]
        await rest.post("documents/batch-ops", {"reason": "r", "ops": ops})
        await rest.put("last.md")
        ids += [(await listener.next()).event_id for _ in range(13)]
    assert ids == sorted(set(ids))


@requirement("rest.events-resume")
async def test_a_listener_who_comes_back_misses_nothing_and_hears_nothing_twice(rest: Rest) -> None:
    async with listening(rest) as listener:
        await rest.put("1.md")
        assert await listener.change() == ("created", "1.md")
        last = listener.last_id
    ops = [{"type": "write", "path": f"batch/{n}.md", "content_base64": ""} for n in range(3)]
    await rest.post("documents/batch-ops", {"reason": "r", "ops": ops})
    async with listening(rest, last) as again:
        assert again.last_id == last
        assert await again.change() == ("created", "batch/0.md")
        in_the_middle = again.last_id
    async with listening(rest, in_the_middle) as third:
        await rest.put("2.md")
        heard = [(await third.change())[1] for _ in range(3)]
    assert heard == ["batch/1.md", "batch/2.md", "2.md"]


@requirement("rest.events-resume")
async def test_a_listener_who_only_heard_ready_can_come_back(rest: Rest) -> None:
    async with listening(rest) as listener:
        ready = listener.last_id
    await rest.put("a.md")
    async with listening(rest, ready) as again:
        assert await again.change() == ("created", "a.md")


@requirement("rest.events-resume")
async def test_a_listener_of_another_hub_goes_on_here(rest: Rest, tmp_path: Path) -> None:
    async with listening(rest) as listener:
        await rest.put("a.md")
        await listener.change()
        last = listener.last_id
    async with open_rest(tmp_path / "brains") as other:
        await rest.put("b.md")
        async with listening(other, last) as again:
            assert await again.change() == ("created", "b.md")


@pytest.mark.slow
@pytest.mark.timeout(20)
@requirement("rest.events-resume")
async def test_the_writes_of_another_process_are_told(rest: Rest) -> None:
    opened = await rest.brains.open("notes")
    folder = rest.brains.library.folder_of(opened.brain)
    async with listening(rest) as listener:
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", WRITER, str(folder), opened.brain.id, "5")
        assert await child.wait() == 0
        heard = [await listener.change() for _ in range(5)]
    assert heard == [("created", f"other/{number}.md") for number in range(5)]


@pytest.mark.parametrize("last", ["junk", "-1-0", "1.5", "99999999-0000", "9" * 40 + "-0", "\u0661-\u0660", ""])
@requirement("rest.events-resume")
async def test_an_id_that_was_never_given_out_is_refused(rest: Rest, last: str) -> None:
    await rest.put("a.md")
    refused = await rest.ask("GET", "events", headers={"last-event-id": last.encode("utf-8")})
    assert told(refused) == (400, "validation_error", "invalid_arguments")
    assert refused.json()["field"] == "Last-Event-ID"


@requirement("rest.events-resume")
async def test_a_quiet_stream_is_kept_alive(anyio_backend: str, tmp_path: Path) -> None:
    async with open_rest(tmp_path / "brains", ping_s=0.01) as rest:
        await rest.brains.create("Notes", "notes")
        async with listening(rest) as listener:
            pings = [await listener.next() for _ in range(3)]
    assert {(event.event, event.data) for event in pings} == {("ping", b"ok")}


@requirement("rest.events-resume")
async def test_a_stream_is_one_call_on_record_that_ends_with_its_client(rest: Rest) -> None:
    async with listening(rest):
        assert rest.house.trail.rows[-1][:2] == ("intent", "events_open")
        rows = len(rest.house.trail.rows)
    async with asyncio.timeout(4):
        await rest.house.trail.reaches(rows + 1)
    assert rest.house.trail.rows[-1] == ("outcome", "events_open", "cancelled")


@requirement("rest.events-resume")
async def test_streams_end_when_the_hub_stops(rest: Rest) -> None:
    async with listening(rest) as listener:
        rest.door.stop()
        assert await listener.ended()


@requirement("rest.events-resume")
async def test_a_brain_that_is_put_away_ends_its_streams(rest: Rest) -> None:
    async with listening(rest) as listener:
        assert (await rest.ask("DELETE", "/v1/brains/notes")).status_code == 204
        event = await listener.next()
        assert event.event == "error"
        assert json.loads(event.data)["limen_code"] in {"no_brain", "store_unavailable"}
        assert await listener.ended()
