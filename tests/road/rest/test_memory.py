"""REST for what is remembered: kept, found again, and taken in from files and addresses."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from tests.road.rest.front import JSON, MARKDOWN, Rest, told

pytestmark = pytest.mark.anyio


@pytest.fixture
async def rest(shared: Rest) -> AsyncGenerator[Rest, None]:
    """The module's hub, with its brain empty."""
    yield shared
    await shared.clear()


async def test_what_is_remembered_is_found_by_the_next_search(rest: Rest) -> None:
    kept = await rest.post(
        "remember", {"content": "# Bicycle\n\nThe spare key hangs behind the fuse box.", "tags": ["home"]}
    )
    record = kept.json()
    assert (kept.status_code, record["title"], record["metadata"]["tags"]) == (201, "Bicycle", "home")
    found = (await rest.post("search", {"query": "spare key", "top_k": 3})).json()
    assert (found["query"], found["brain_id"]) == ("spare key", record["brain_id"])
    assert found["hits"][0]["path"] == record["path"]
    assert "fuse box" in found["hits"][0]["content"]
    recalled = (await rest.post("recall", {"query": "where is the spare key"})).json()
    assert recalled["hits"][0]["document_id"] == record["id"]


async def test_what_is_written_by_any_way_is_found(rest: Rest) -> None:
    await rest.put("wiki/llama.md", "The llama is called Bartholomew.")
    await rest.append("wiki/llama.md", b"\n\nIt eats thistles.")
    await rest.post("documents", {"content": "# Goat\n\nThe goat is called Clementine."})
    for query, name in (
        ("Bartholomew", "wiki/llama.md"),
        ("thistles", "wiki/llama.md"),
        ("Clementine", "memory/global/goat.md"),
    ):
        hits = (await rest.post("search", {"query": query})).json()["hits"]
        assert hits[0]["path"] == name
    await rest.delete("wiki/llama.md")
    assert (await rest.post("search", {"query": "Bartholomew", "mode": "bm25"})).json()["hits"] == []


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"note": "n", "slug": "key"}, "memory/global/key.md"),
        ({"note": "n", "slug": "key", "scope": "global"}, "memory/global/key.md"),
        ({"note": "n", "slug": "key", "scope": "project:limen"}, "memory/project/limen/key.md"),
        ({"content": "n", "path": "wiki/x.md"}, "wiki/x.md"),
        ({"content": "n", "title": "Some Title"}, "memory/global/some-title.md"),
    ],
)
async def test_a_note_goes_where_it_is_sent(rest: Rest, body: dict[str, str], path: str) -> None:
    assert (await rest.post("remember", body)).json()["path"] == path
    assert (await rest.read(path)).text == "n"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "content"),
        ({"content": "a", "note": "b"}, "content"),
        ({"content": ""}, "content"),
        ({"content": "a", "scope": "global"}, "scope"),
        ({"content": "a", "slug": "x", "scope": "agent"}, "scope"),
        ({"content": "a", "slug": "x", "path": "y"}, "slug"),
        ({"content": "a", "slug": "../x"}, "slug"),
        ({"content": "a", "path": "../x"}, "path"),
        ({"content": "a", "title": ""}, "title"),
        ({"content": "a", "title": "x" * 1_000}, "title"),
        ({"content": "a", "tags": [""]}, "tags[0]"),
        ({"content": "a", "tags": ["x"] * 65}, "tags"),
        ({"content": "a", "brain": "notes"}, "brain"),
    ],
)
async def test_a_note_that_cannot_be_kept_names_the_field(rest: Rest, body: dict[str, Any], field: str) -> None:
    refused = await rest.post("remember", body)
    assert told(refused)[:2] == (400, "validation_error")
    assert refused.json()["detail"].startswith(f"{field}:")
    assert await rest.paths() == []


async def test_a_note_with_a_key_is_kept_once(rest: Rest) -> None:
    for body in ({"content": "# A\n\ntext", "tags": ["t"]}, {"content": "b", "path": "wiki/b.md"}):
        kept = [(await rest.post("remember", body, idempotency_key="k" + body["content"][0])).json() for _ in range(2)]
        assert kept[0] == kept[1]
    assert len(await rest.paths()) == 2


async def test_a_search_is_told_everything_it_can_be(rest: Rest) -> None:
    await rest.put("memory/project/limen/a.md", "---\ntags: [door]\ndate: 2024-03-05\n---\nThe threshold is oak.")
    await rest.put("memory/global/b.md", "The threshold is stone.")

    async def paths(**body: Any) -> list[str]:
        answer = await rest.post("search", {"query": "threshold", **body})
        assert answer.status_code == 200, answer.text
        return sorted(hit["path"] for hit in answer.json()["hits"])

    both = ["memory/global/b.md", "memory/project/limen/a.md"]
    assert await paths() == both
    assert await paths(scope="project") == both[1:]
    assert await paths(scope="global", sort="recency", mode="bm25") == both[:1]
    assert await paths(filters={"project": "limen"}) == both[1:]
    assert await paths(filters={"tags": ["door"]}) == both[1:]
    assert await paths(filters={"path_prefix": "memory/global/"}) == both[:1]
    assert await paths(filters={"paths": both[:1]}) == both[:1]
    assert await paths(filters={"since": "2024-03-01", "until": "2024-03-31"}) == both[1:]
    assert await paths(top_k=1, question_date="2024-03-06") != []
    assert await paths(filters={"trust": "untrusted"}) == []
    explained = (await rest.post("search", {"query": "threshold", "explain": True})).json()
    assert explained["trace"]


@pytest.mark.parametrize(
    "query", ['"', "*", "NEAR(", "a OR", "AND", "NOT", "(((", "a*b*", "\u0000", "'; drop table", "x " * 2000, "́" * 100]
)
async def test_no_query_is_an_error_of_the_server(rest: Rest, query: str) -> None:
    await rest.put("a.md", "alpha beta")
    assert (await rest.post("search", {"query": query})).status_code in {200, 400}
    assert (await rest.post("recall", {"query": query})).status_code in {200, 400}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": "x" * 4097}, "query"),
        ({"query": "x", "top_k": -1}, "top_k"),
        ({"query": "x", "top_k": 0}, "top_k"),
        ({"query": "x", "top_k": 10**9}, "top_k"),
        ({"query": "x", "top_k": "3"}, "top_k"),
        ({"query": "x", "mode": "magic"}, "mode"),
        ({"query": "x", "scope": "moon"}, "scope"),
        ({"query": "x", "sort": "size"}, "sort"),
        ({"query": "x", "question_date": "Mars/Sol 12"}, "question_date"),
        ({"query": "x", "question_date": "2024-13-45"}, "question_date"),
        ({"query": "x", "filters": {"colour": "red"}}, "filters.colour"),
        ({"query": "x", "filters": {"since": "yesterdayish"}}, "filters.since"),
        ({"query": "x", "filters": []}, "filters"),
        ({"query": "x", "brain": "other"}, "brain"),
    ],
)
async def test_a_search_that_cannot_be_made_names_the_field(rest: Rest, body: dict[str, Any], field: str) -> None:
    refused = await rest.post("search", body)
    assert told(refused)[:2] == (400, "validation_error")
    assert refused.json()["field"] == field


async def test_a_file_beneath_the_allowed_roots_is_taken_in(rest: Rest) -> None:
    files = rest.folder.parent / "files"
    files.mkdir(exist_ok=True)
    (files / "readme.md").write_text("# Readme\n\nThe hinge is brass.", "utf-8")
    for route in ("ingest/file", "documents/ingest/file"):
        taken = await rest.post(route, {"path": str(files / "readme.md"), "as": "markdown"})
        assert (taken.status_code, taken.json()["status"]) == (200, "completed"), taken.text
    assert taken.json()["reused"] is True
    assert (await rest.post("search", {"query": "hinge"})).json()["hits"][0]["document_id"] == taken.json()[
        "document_id"
    ]


@pytest.mark.parametrize("path", ["/etc/passwd", "../secret.md", "no-such-file.md", "files/../../secret.md", "\u0000"])
async def test_no_other_file_is_taken_in(rest: Rest, path: str) -> None:
    (rest.folder.parent / "secret.md").write_text("secret", "utf-8")
    refused = await rest.post("ingest/file", {"path": path})
    assert told(refused)[0] in {400, 403, 404}
    assert await rest.paths() == []


async def test_the_bytes_of_a_file_are_taken_in(rest: Rest) -> None:
    raw = await rest.ask(
        "POST",
        "ingest/file",
        params={"name": "lamp.md", "as": "markdown"},
        content=b"# Lamp\n\nIt is lit.",
        headers=MARKDOWN,
    )
    assert (raw.status_code, raw.json()["status"]) == (200, "completed"), raw.text
    form = await rest.ask(
        "POST", "documents/ingest/file", files={"file": ("oar.txt", b"The oar is ash.")}, data={"as": "text"}
    )
    assert (form.status_code, form.json()["chunk_count"]) == (200, 1), form.text
    assert len(await rest.paths()) == 2


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"content": b"x", "headers": MARKDOWN}, 400),
        ({"content": b"x", "headers": {"content-type": "image/png"}, "params": {"name": "a.png"}}, 415),
        ({"content": b"x", "params": {"name": "a.md"}}, 415),
        ({"content": b"{}", "headers": JSON}, 400),
        ({"content": b'{"path":"a","as":"film"}', "headers": JSON}, 400),
        ({"content": b'{"path":"a"}', "headers": JSON, "params": {"name": "b"}}, 400),
        ({"files": {"a": ("a.md", b"x"), "b": ("b.md", b"y")}}, 400),
        ({"files": {"a": ("a.md", b"x")}, "data": {"as": "film"}}, 400),
        ({"files": {"a": ("a.md", b"x")}, "data": {"colour": "red"}}, 400),
        ({"content": b"x", "headers": MARKDOWN, "params": {"name": "a.md", "colour": "red"}}, 400),
    ],
)
async def test_an_upload_that_cannot_be_read_is_refused(rest: Rest, more: dict[str, Any], status: int) -> None:
    assert told(await rest.ask("POST", "ingest/file", **more))[0] == status
    assert await rest.paths() == []


@pytest.mark.slow
@pytest.mark.timeout(30)
async def test_a_file_past_25_mebibytes_is_too_large(rest: Rest) -> None:
    params = {"name": "big.txt"}
    content = b"x" * (25 * 1024 * 1024 + 1)
    refused = await rest.ask("POST", "ingest/file", params=params, content=content, headers=MARKDOWN)
    assert told(refused) == (413, "payload_too_large", "file_too_large")
    assert await rest.paths() == []


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9/",
        "http://localhost/",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/",
        "file:///etc/passwd",
        "ftp://example.com/x",
        "gopher://example.com",
        "data:text/plain,x",
        "http://user:pass@127.0.0.1/",
        "nonsense",
    ],
)
async def test_an_address_that_must_not_be_fetched_is_refused(rest: Rest, url: str) -> None:
    for route in ("ingest/url", "documents/ingest/url"):
        refused = await rest.post(route, {"url": url})
        assert told(refused)[0] in {400, 403}
    assert await rest.paths() == []


async def test_bodies_have_their_limits(rest: Rest) -> None:
    long = "x" * (256 * 1024)
    assert told(await rest.post("search", {"query": long})) == (413, "payload_too_large", "too_large")
    assert told(await rest.post("remember", {"content": long}))[0] == 413
    assert told(await rest.post("recall", {"query": "x" * (64 * 1024)}))[0] == 413
    assert told(await rest.post("documents/rename", {"from": "a", "to": long}))[0] == 413
    assert (await rest.post("documents", {"content": long + long})).status_code == 201
    assert await rest.still_serves()
