"""REST takes the one road: identity, tier, policy and audit hold for it as for everybody."""

from pathlib import Path
from typing import Any

import pytest

from limen.calls.call import Allow, Caller
from limen.errors import AuthRequired, FetchFailed, StoreFull
from limen.web.door import RestDoor
from tests.house import DENIED, FakeProvider, RuleBook, a_caller, a_house, a_tool
from tests.requirements import requirement
from tests.road.doors import open_hub
from tests.road.rest.front import Rest, open_rest, told

pytestmark = pytest.mark.anyio

READS: list[tuple[str, str, Any]] = [
    ("GET", "/v1/brains", None),
    ("GET", "/v1/brains/notes", None),
    ("GET", "documents", None),
    ("GET", "documents/read?path=a.md", None),
    ("GET", "documents/stat?path=a.md", None),
    ("POST", "search", {"query": "x"}),
    ("POST", "recall", {"query": "x"}),
]
WRITES: list[tuple[str, str, Any]] = [
    ("PUT", "documents?path=b.md", None),
    ("DELETE", "documents?path=a.md", None),
    ("POST", "documents", {"content": "x"}),
    ("POST", "documents/rename", {"from": "a.md", "to": "b.md"}),
    ("POST", "documents/batch-ops", {"reason": "r", "ops": [{"type": "delete", "path": "a.md"}]}),
    ("POST", "remember", {"content": "x"}),
    ("POST", "ingest/file", {"path": "x"}),
    ("POST", "ingest/url", {"url": "http://127.0.0.1/"}),
    ("POST", "/v1/brains", {"name": "More"}),
]
ALL = [*READS, *WRITES, ("GET", "events", None)]


async def send(rest: Rest, method: str, path: str, body: Any) -> tuple[int, str, str]:
    response = await (rest.ask(method, path) if body is None else rest.post(path, body))
    return told(response) if response.status_code >= 400 else (response.status_code, "", "")


@requirement("rest.one-road")
async def test_every_request_is_on_record_as_a_call(rest: Rest) -> None:
    await rest.put("a.md")
    await rest.read("a.md")
    await rest.read("no.md")
    await rest.post("search", {"query": "x"})
    await rest.ask("GET", "/v1/brains")
    outcomes = [row[1:] for row in rest.house.trail.rows if row[0] == "outcome"]
    assert outcomes == [
        ("document_put", "ok"),
        ("document_read", "ok"),
        ("document_read", "not_found"),
        ("brain_search", "ok"),
        ("memory_list_brains", "ok"),
    ]


@requirement("rest.one-road")
async def test_a_caller_who_may_only_read_changes_nothing(rest: Rest) -> None:
    await rest.put("a.md")
    rest.hub.door.identify = lambda scope: a_caller(tier="read")
    for writing in [*WRITES, ("DELETE", "/v1/brains/notes", None)]:
        assert await send(rest, *writing) == (403, "forbidden", "denied")
    assert await rest.paths() == ["a.md"]
    for reading in READS:
        assert (await send(rest, *reading))[0] == 200
    assert "not_found" in rest.house.trail.outcomes


@requirement("rest.one-road")
async def test_only_an_admin_puts_a_brain_away(rest: Rest) -> None:
    rest.hub.door.identify = lambda scope: a_caller(tier="write")
    refused = await rest.ask("DELETE", "/v1/brains/notes")
    assert told(refused) == (403, "forbidden", "denied")
    assert "tier" in refused.json()["detail"]
    assert (await rest.ask("GET", "/v1/brains/notes")).status_code == 200


@requirement("rest.one-road")
async def test_what_policy_denies_is_not_done(anyio_backend: str, tmp_path: Path) -> None:
    rules = RuleBook()
    async with open_rest(tmp_path / "brains", policy=rules) as rest:
        await rest.brains.create("Notes", "notes")
        await rest.put("a.md", "x")
        rules.decision = DENIED
        for asking in ALL:
            assert await send(rest, *asking) == (403, "forbidden", "denied")
            assert rest.house.trail.outcomes[-1] == "denied"
        assert (await rest.read("a.md")).json()["rule"] == "test-denies"
        rules.decision = Allow("again")
        assert await rest.paths() == ["a.md"]


@requirement("rest.one-road")
async def test_a_caller_nobody_knows_is_refused(rest: Rest) -> None:
    def refuse(scope: dict[str, Any]) -> Caller:
        raise AuthRequired("who are you?")

    rest.hub.door.identify = refuse
    for asking in ALL:
        assert await send(rest, *asking) == (401, "unauthorized", "auth_required")


@requirement("rest.one-road")
async def test_nothing_is_written_that_cannot_be_recorded(rest: Rest) -> None:
    rest.house.trail.is_writable = False
    refused = await rest.put("a.md")
    assert told(refused) == (503, "unavailable", "audit_unavailable")
    assert refused.json()["retryable"] is True
    rest.house.trail.is_writable = True
    assert await rest.paths() == []


@requirement("rest.one-road")
async def test_a_change_is_its_callers(rest: Rest) -> None:
    await rest.put("a.md", x_test_user="local:ann")
    opened = await rest.brains.open("notes")
    [commit] = await opened.run(lambda: opened.store.commits(limit=1))
    assert commit.actor == "local:ann"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (StoreFull("the disk is full"), (507, "insufficient_storage", "store_full")),
        (FetchFailed("no answer"), (502, "bad_gateway", "fetch_failed")),
        (TimeoutError("a bug"), (500, "internal_error", "internal")),
    ],
)
@requirement("rest.one-road")
async def test_a_failure_becomes_its_problem(error: Exception, expected: tuple[int, str, str]) -> None:
    house = a_house(providers={"fake": FakeProvider(a_tool("memory_list_brains"), fails_with=error)})
    async with open_hub(house) as hub:
        hub.door.more_prefixes["/v1"] = RestDoor(house.pipeline, hub.door.identify)
        response = await hub.client.get("/v1/brains")
    assert told(response) == expected
    assert "a bug" not in response.text
