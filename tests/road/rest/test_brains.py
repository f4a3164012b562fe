"""REST for brains: made, listed, told about and put away, each by its id or its slug."""

import pytest

from tests.road.rest.front import Rest, told

pytestmark = pytest.mark.anyio


async def test_a_brain_is_made_and_found_by_slug_and_id(rest: Rest) -> None:
    made = await rest.post("/v1/brains", {"name": "Work notes", "visibility": "tenant"})
    brain = made.json()
    assert (made.status_code, brain["slug"], brain["name"], brain["visibility"]) == (
        201,
        "work-notes",
        "Work notes",
        "tenant",
    )
    for name in (brain["slug"], brain["id"]):
        found = await rest.ask("GET", f"/v1/brains/{name}")
        assert (found.status_code, found.json()) == (200, brain)
    listed = (await rest.ask("GET", "/v1/brains")).json()["items"]
    assert [item["slug"] for item in listed] == ["notes", "work-notes"]


async def test_a_slug_is_taken_once(rest: Rest) -> None:
    assert told(await rest.post("/v1/brains", {"name": "Notes", "slug": "notes"})) == (409, "conflict", "conflict")
    assert len((await rest.ask("GET", "/v1/brains")).json()["items"]) == 1


BAD_BRAINS: list[tuple[object, str]] = [
    ({}, "name"),
    ({"name": ""}, "name"),
    ({"name": "x" * 129}, "name"),
    ({"name": "x", "slug": "Not A Slug"}, "slug"),
    ({"name": "x", "slug": "../x"}, "slug"),
    ({"name": "x", "slug": "-x"}, "slug"),
    ({"name": "x", "visibility": "secret"}, "visibility"),
    ({"name": "x", "colour": "red"}, "colour"),
    ({"name": 1}, "name"),
]


async def test_a_brain_that_cannot_be_made_names_the_field(rest: Rest) -> None:
    for body, field in BAD_BRAINS:
        refused = await rest.post("/v1/brains", body)
        assert told(refused) == (400, "validation_error", "invalid_arguments")
        assert refused.json()["field"] == field
    assert len((await rest.ask("GET", "/v1/brains")).json()["items"]) == 1


async def test_a_brain_that_is_put_away_is_gone(rest: Rest) -> None:
    await rest.put("a.md")
    assert (await rest.ask("DELETE", "/v1/brains/notes")).status_code == 204
    assert told(await rest.ask("GET", "/v1/brains/notes")) == (404, "not_found", "no_brain")
    assert told(await rest.ask("DELETE", "/v1/brains/notes")) == (404, "not_found", "no_brain")
    assert told(await rest.read("a.md")) == (404, "not_found", "no_brain")


ROUTES: list[tuple[str, str, bytes]] = [
    ("GET", "", b""),
    ("DELETE", "", b""),
    ("GET", "/documents", b""),
    ("GET", "/documents/read?path=a.md", b""),
    ("PUT", "/documents?path=a.md", b"x"),
    ("GET", "/events", b""),
    ("POST", "/remember", b'{"content":"x"}'),
    ("POST", "/search", b'{"query":"x"}'),
]


# A dot segment is resolved by every client, so it is written encoded here.
@pytest.mark.parametrize("name", ["nosuch", "..%2fnotes", "%2e%2e", "%00", "%C3%A9", "x" * 200, "a.b", "%20"])
async def test_a_brain_nobody_has_is_not_found_anywhere(rest: Rest, name: str) -> None:
    for method, route, body in ROUTES:
        headers = {"content-type": "application/json"} if method == "POST" else {}
        response = await rest.ask(method, f"/v1/brains/{name}{route}", content=body, headers=headers)
        assert told(response) == (404, "not_found", "no_brain")
    assert [brain.slug for brain in await rest.brains.list()] == ["notes"]
