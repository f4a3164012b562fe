"""REST of a real `limen serve`, beside another `limen` on the same brain, through a stop and a new start."""

import json
import signal
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from limen.transport.sse import Event, EventParser
from tests.environment import Home
from tests.road.shell import Shell

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]


@contextmanager
def serving(shell: Shell, *options: str) -> "Generator[tuple[subprocess.Popen[str], httpx2.Client]]":
    """A hub on a port of its own, and a client of it."""
    with shell.start("serve", "--port", "0", *options) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"].removesuffix("/mcp")
        with httpx2.Client(base_url=url, timeout=20, trust_env=False) as client:
            yield process, client


def events(response: httpx2.Response) -> Iterator[Event]:
    parser = EventParser(1_000_000)
    for chunk in response.iter_raw():
        for event in parser.feed(chunk):
            assert isinstance(event, Event)
            yield event


def test_documents_events_and_search_across_processes_and_a_restart(limen_bin: Path, home: Home) -> None:
    shell = Shell(limen_bin, home)
    documents, stream = "/v1/brains/notes/documents", "/v1/brains/notes/events"
    with serving(shell, "--tier", "admin", "--toolsets", "hub,memory") as (hub, client):
        assert client.post("/v1/brains", json={"name": "Notes"}).status_code == 201
        with client.stream("GET", stream) as response:
            heard = events(response)
            assert next(heard).event == "ready"
            written = client.put(documents, params={"path": "wiki/oak.md"}, content=b"The threshold is oak.")
            assert (written.status_code, json.loads(next(heard).data)["path"]) == (204, "wiki/oak.md")
            done = shell.run("remember", "The lintel is slate.", "--brain", "notes", "--json")
            assert done.code == 0, done.err
            told = next(heard)
            assert json.loads(told.data)["path"] == done.data["path"]
            hits = client.post("/v1/brains/notes/search", json={"query": "lintel"}).json()["hits"]
            assert hits[0]["path"] == done.data["path"]
            hub.send_signal(signal.SIGTERM)
            assert list(heard) == []
        assert hub.wait() == 0
    assert shell.run("remember", "The door is ash.", "--path", "wiki/ash.md", "--brain", "notes").code == 0
    with serving(shell) as (_, client):
        with client.stream("GET", stream, headers={"last-event-id": told.event_id}) as response:
            heard = events(response)
            assert (next(heard).event, json.loads(next(heard).data)["path"]) == ("ready", "wiki/ash.md")
        refused = client.put(documents, params={"path": "wiki/oak.md"}, content=b"no")
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert client.get(f"{documents}/read", params={"path": "wiki/oak.md"}).content == b"The threshold is oak."
    rows = [row for row in shell.run("logs", "--json").rows if row.get("name") == "document_put"]
    assert {row["status"] for row in rows} == {"ok", "not_found"}
