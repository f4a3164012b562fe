"""Whatever comes in over REST: a clear code, nothing written, nothing lost, and the next call works."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from tests.requirements import requirement
from tests.road.rest.front import JSON, Rest, told

pytestmark = pytest.mark.anyio


@pytest.fixture
async def rest(shared: Rest) -> AsyncGenerator[Rest, None]:
    """The module's hub, with its brain empty."""
    yield shared
    await shared.clear()


NAUGHTY = [
    "",
    "null",
    "\ufeff# begins with a mark of byte order",
    "\u200b\u200d\u2060 nothing to be seen",
    "\u202e written from right to left \u202c",
    "z\u0361\u035c\u0338a\u0334\u0348l\u0315\u0321g\u0340o\u0489",
    "\u8a18\u61b6\u3068\u9580 \uae30\uc5b5 \u0e1b\u0e23\u0e30\u0e15\u0e39 \u0634\u064f\u0641\u0650\u064a\u064e",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f1f3\U0001f1f1",
    "\U0010ffff \ufffe \ufdd0 \ue000",
    "e\u0301 \u00e9",
    "<img src=x onerror=alert(1)>",
    "'); drop table documents; --",
    "$(reboot) `reboot` ${HOME} %s %n {0} {{7*7}}",
    "line\r\none\rtwo\x0b\x0c\x85\u2028\u2029end",
    "tab\tnul\u0000bell\u0007escape\u001b[31m red",
    "---\ntitle: !!python/object/apply:os.system [reboot]\n---\n",
    "---\n- not\n- a mapping\n---\ntext",
    "---\n" + "a: &a [" + "*a," * 50 + "]\n---\n",
    "<<<<<<< ours\none\n=======\ntwo\n>>>>>>> theirs\n",
    "x" * 100_000,
]


@requirement("rest.problems")
async def test_any_text_is_kept_byte_for_byte(rest: Rest) -> None:
    for number, text in enumerate(NAUGHTY):
        assert (await rest.put("wiki/a.md", text)).status_code == 204
        assert (await rest.read("wiki/a.md")).content == text.encode()
        if text:
            made = await rest.post("documents", {"path": f"wiki/{number}.md", "content": text})
            assert made.status_code == 201, made.text
            assert (await rest.read(f"wiki/{number}.md")).content == text.encode()


@pytest.mark.parametrize(
    "path",
    [
        "/a.md",
        "a.md/",
        "../a.md",
        "a/../b.md",
        "./a.md",
        "a//b.md",
        "..",
        ".",
        "a\\b.md",
        "a\u0000b.md",
        "a\nb.md",
        ".git/config",
        ".GIT/hooks/x",
        ".limen/journal.db",
        "x" * 1025,
        "é" * 200 + ".md",
        "a/" * 600 + "b",
    ],
)
@requirement("rest.problems")
async def test_a_path_that_is_none_is_refused_everywhere(rest: Rest, path: str) -> None:
    write = {"type": "write", "path": path, "content_base64": ""}
    answers = [
        await rest.put(path),
        await rest.append(path, b"x"),
        await rest.read(path),
        await rest.delete(path),
        await rest.ask("GET", "documents/stat", params={"path": path}),
        await rest.ask("GET", "documents", params={"dir": path}),
        await rest.post("documents", {"path": path, "content": "x"}),
        await rest.post("documents/rename", {"from": path, "to": "b.md"}),
        await rest.post("documents/rename", {"from": "b.md", "to": path}),
        await rest.post("documents/batch-ops", {"reason": "r", "ops": [write]}),
    ]
    assert {told(answer)[:2] for answer in answers} == {(400, "validation_error")}
    assert (await rest.ask("HEAD", "documents", params={"path": path})).status_code == 400
    assert await rest.paths(include_generated="true") == []
    assert await rest.still_serves()


@requirement("rest.problems")
async def test_a_strange_path_is_a_path(rest: Rest) -> None:
    names = [
        "a b.md",
        "-rf",
        "CON",
        "a%2e.md",
        "\u00fcn\u00efc\u00f6d\u00e9/\u65e5\u672c\u8a9e.md",
        "\u202egnp.exe",
        "a" * 255,
    ]
    strange = sorted([*names, ".hidden/x.md", "a;b|c&d.md"])
    for path in strange:
        assert (await rest.put(path, "x")).status_code == 204
        assert (await rest.read(path)).text == "x"
    assert await rest.paths() == strange


@pytest.mark.parametrize(
    ("method", "path", "field"),
    [
        ("GET", "documents?colour=red", "colour"),
        ("GET", "documents?recursive=perhaps", "recursive"),
        ("GET", "documents?recursive=true&recursive=false", "recursive"),
        ("GET", "documents/read", "path"),
        ("GET", "documents/read?path=", "path"),
        ("GET", "documents/read?path=a&at=b", "at"),
        ("GET", "documents/read?path=%ff%fe", "query"),
        ("GET", "events?after=1", "after"),
        ("GET", "/v1/brains?page=2", "page"),
        ("GET", "/v1/brains/notes?x=1", "x"),
        ("DELETE", "documents?path=a&force=true", "force"),
        ("GET", "documents?" + "&".join(f"p{number}=1" for number in range(5_000)), "query"),
    ],
)
@requirement("rest.problems")
async def test_a_query_that_is_wrong_names_its_parameter(rest: Rest, method: str, path: str, field: str) -> None:
    refused = await rest.ask(method, path)
    assert told(refused) == (400, "validation_error", "invalid_arguments")
    assert refused.json()["field"] == field


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"", "body"),
        (b"{", "body"),
        (b"[]", "body"),
        (b'"text"', "body"),
        (b"[" * 100_000, "body"),
        (b'{"metadata":' + b"[" * 100_000, "metadata"),
        (b'{"content":"a","metadata":{"a":{"b":1}}}', "metadata"),
        (b'{"content":"a","metadata":{"a":NaN}}', "body"),
        (b'{"content":"a","metadata":{"a":1e999}}', "metadata"),
        (b'{"content":"a","metadata":{"a":' + b"9" * 5000 + b"}}", "metadata"),
        (b'{"content":"a","metadata":{"":1}}', "metadata"),
        (b'{"content":"a","metadata":{"a":9223372036854775808}}', "metadata"),
        (b'{"content":"\\ud800"}', "body"),
        (b'{"content":"\xff"}', "body"),
        (b"\xef\xbb\xbf{}", "body"),
        ('{"content":"a"}'.encode("utf-16"), "body"),
        (b'{"content":"a","__proto__":{}}', "__proto__"),
        (b'{"content":"a","title":""}', "title"),
        (b'{"content":"a","title":"' + b"x" * 1_000_000 + b'"}', "title"),
        (b'{"content":"a","source":"magic"}', "source"),
        (b'{"content":"a","content_type":"nonsense"}', "content_type"),
        (b'{"content":null}', "content"),
        (b'{"content":""}', "content"),
        (b'{"path":"a.md"}', "content"),
    ],
)
@requirement("rest.problems")
async def test_a_body_that_is_wrong_names_its_field(rest: Rest, body: bytes, field: str) -> None:
    refused = await rest.ask("POST", "documents", content=body, headers=JSON)
    assert told(refused) == (400, "validation_error", "invalid_arguments")
    assert refused.json()["field"].startswith(field)
    assert await rest.paths() == []
    assert await rest.still_serves()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("author", "a\nb"),
        ("author", "a <x@y>"),
        ("email", "a>b"),
        ("reason", "a\r\nb"),
        ("reason", ""),
        ("author", "x" * 300),
    ],
)
@requirement("rest.problems")
async def test_a_line_of_history_is_one_line(rest: Rest, field: str, value: str) -> None:
    body: dict[str, Any] = {"reason": "r", "ops": [{"type": "write", "path": "a.md", "content_base64": ""}]}
    refused = await rest.post("documents/batch-ops", body | {field: value})
    assert (told(refused)[0], refused.json()["field"]) == (400, field)
    assert await rest.paths() == []


@pytest.mark.parametrize(
    "media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json"]
)
@requirement("rest.problems")
async def test_json_of_another_type_is_415(rest: Rest, media: str) -> None:
    headers = {"content-type": media} if media else {}
    for route, body in (
        ("documents", b'{"content":"a"}'),
        ("search", b'{"query":"a"}'),
        ("/v1/brains", b'{"name":"a"}'),
    ):
        refused = await rest.ask("POST", route, content=body, headers=headers)
        assert told(refused) == (415, "unsupported_media_type", "unreadable")
    assert await rest.paths() == []


@pytest.mark.parametrize("media", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "image/png"])
@requirement("rest.problems")
async def test_bytes_of_another_type_are_415(rest: Rest, media: str) -> None:
    assert told(await rest.put("a.md", "x", content_type=media))[0] == 415
    assert told(await rest.append("a.md", b"x", content_type=media))[0] == 415
    assert await rest.paths() == []


@requirement("rest.problems")
async def test_a_compressed_body_is_415(rest: Rest) -> None:
    assert told(await rest.put("a.md", b"\x1f\x8b", content_encoding="gzip"))[0] == 415
    assert await rest.paths() == []


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/v1/brains", "GET, POST"),
        ("PATCH", "/v1/brains/notes", "DELETE, GET"),
        ("PATCH", "documents", "DELETE, GET, HEAD, POST, PUT"),
        ("OPTIONS", "documents", "DELETE, GET, HEAD, POST, PUT"),
        ("TRACE", "documents/read", "GET"),
        ("GET", "search", "POST"),
        ("POST", "events", "GET"),
        ("GET", "documents/batch-ops", "POST"),
        ("POST", "/openapi.json", "GET, HEAD"),
    ],
)
@requirement("rest.problems")
async def test_a_method_that_is_not_served_is_405_and_names_those_that_are(
    rest: Rest, method: str, path: str, allowed: str
) -> None:
    refused = await rest.ask(method, path)
    assert (refused.status_code, refused.headers["allow"]) == (405, allowed)
    assert told(refused)[1] == "method_not_allowed"


@pytest.mark.parametrize(
    "path", ["/v1", "/v1/", "/v1/brains/", "/v1/brains/notes/", "/v1/brains/notes/nothing", "/v1//brains", "/v1/x"]
)
@requirement("rest.problems")
async def test_a_path_that_is_not_served_is_404(rest: Rest, path: str) -> None:
    assert told(await rest.ask("GET", path))[:2] == (404, "not_found")


@pytest.mark.parametrize("key", ["a b", "x" * 256, "\u00e9"])
@requirement("rest.problems")
async def test_a_key_that_is_none_is_refused(rest: Rest, key: str) -> None:
    refused = await rest.ask(
        "PUT", "documents", params={"path": "a.md"}, content=b"x", headers=[("idempotency-key", key.encode("latin-1"))]
    )
    assert (told(refused)[0], refused.json()["field"]) == (400, "Idempotency-Key")
    assert await rest.paths() == []


@pytest.mark.parametrize("condition", [{"if_match": "junk"}, {"if_none_match": '"x"'}, {"if_match": ""}])
@requirement("rest.problems")
async def test_a_condition_that_cannot_be_read_is_never_passed_over(rest: Rest, condition: dict[str, str]) -> None:
    assert told(await rest.put("a.md", "x", **condition))[0] == 400
    assert await rest.paths() == []


@requirement("rest.problems")
async def test_a_host_or_origin_of_elsewhere_is_refused(rest: Rest) -> None:
    assert (await rest.ask("GET", "/v1/brains", headers={"host": "evil.example"})).status_code == 421
    assert (await rest.ask("GET", "/v1/brains", headers={"origin": "http://localhost.evil"})).status_code == 403
    assert (await rest.put("a.md", "x", origin="null")).status_code == 403
    assert await rest.paths() == []


@requirement("rest.problems")
async def test_a_body_that_never_ends_its_promise_writes_nothing(rest: Rest) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", rest.hub.port)
    head = [
        "PUT /v1/brains/notes/documents?path=a.md HTTP/1.1",
        f"host: 127.0.0.1:{rest.hub.port}",
        "content-type: text/markdown",
        "content-length: 100",
        "",
        "only this",
    ]
    writer.write("\r\n".join(head).encode())
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert await reader.read() == b""
    assert await rest.still_serves()
    assert await rest.paths() == ["still/here.md"]


@requirement("rest.problems")
async def test_a_list_of_anything_glob_is_answered(rest: Rest) -> None:
    await rest.put("a.md")
    for glob in ("[", "[!", "**", "*" * 200, "a[z-a].md", "\\", "(?i)", "[]]", "?" * 256):
        assert (await rest.ask("GET", "documents", params={"glob": glob})).status_code == 200
    assert told(await rest.ask("GET", "documents", params={"glob": "x" * 257}))[0] == 400


@requirement("rest.problems")
async def test_a_document_somebody_edits_beside_us_is_read_as_it_is(rest: Rest) -> None:
    await rest.put("a.md", "ours")
    opened = await rest.brains.open("notes")
    (rest.brains.library.folder_of(opened.brain) / "a.md").write_bytes(b"theirs")
    found = await rest.read("a.md")
    assert found.content == b"theirs"
    assert (await rest.put("a.md", "next", if_match=found.headers["etag"])).status_code == 204
    assert (await rest.read("a.md")).content == b"next"


@requirement("rest.problems")
async def test_the_description_is_open_to_everybody(rest: Rest) -> None:
    found = await rest.ask("GET", "/openapi.json")
    assert (found.status_code, found.headers["content-type"]) == (200, "application/json")
    assert json.loads(found.content)["openapi"] == "3.1.0"
