"""REST for documents: what was written is read back, byte for byte, and nothing is half done."""

from base64 import b64encode
from collections.abc import AsyncGenerator
from hashlib import sha256
from typing import Any

import pytest

from limen.brain.documents.vault import open_vault
from limen.brain.records import ChangeSet, Write
from limen.web.documents import BATCH_BYTES, WRITE_BYTES
from tests.requirements import requirement
from tests.road.rest.front import MARKDOWN, Rest, told

pytestmark = pytest.mark.anyio


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def etag(content: bytes) -> str:
    return f'"{digest(content)}"'


def base64(content: bytes) -> str:
    return b64encode(content).decode()


async def test_a_document_is_read_back_byte_for_byte(rest: Rest) -> None:
    content = bytes(range(256)) * 3
    written = await rest.put("raw/bytes.bin", content)
    assert (written.status_code, written.content) == (204, b"")
    found = await rest.read("raw/bytes.bin")
    assert (found.status_code, found.content) == (200, content)
    assert found.headers["content-type"] == "application/octet-stream"
    assert found.headers["etag"] == written.headers["etag"] == etag(content)
    assert found.headers["cache-control"] == "no-store"
    assert found.headers["x-content-type-options"] == "nosniff"


async def test_an_empty_document_is_a_document(rest: Rest) -> None:
    assert (await rest.put("a.md", b"")).status_code == 204
    assert (await rest.read("a.md")).content == b""


async def test_a_document_that_is_not_there_is_not_found(rest: Rest) -> None:
    assert told(await rest.read("no.md")) == (404, "not_found", "not_found")
    assert told(await rest.delete("no.md")) == (404, "not_found", "not_found")
    assert told(await rest.ask("GET", "documents/stat", params={"path": "no.md"}))[0] == 404
    assert told(await rest.post("documents/rename", {"from": "no.md", "to": "b.md"}))[0] == 404
    head = await rest.ask("HEAD", "documents", params={"path": "no.md"})
    assert (head.status_code, head.content) == (404, b"")


async def test_a_document_is_deleted_once(rest: Rest) -> None:
    await rest.put("a.md")
    assert (await rest.delete("a.md")).status_code == 204
    assert (await rest.delete("a.md")).status_code == 404
    assert (await rest.read("a.md")).status_code == 404


async def test_what_is_appended_comes_at_the_end(rest: Rest) -> None:
    assert (await rest.append("log.md", b"one\n", content_type="text/markdown")).status_code == 204
    added = await rest.append("log.md", b"two\n")
    assert (added.status_code, added.headers["etag"]) == (204, etag(b"one\ntwo\n"))
    assert (await rest.read("log.md")).content == b"one\ntwo\n"


async def test_head_and_stat_tell_without_the_content(rest: Rest) -> None:
    await rest.put("wiki/a.md", "héllo")
    head = await rest.ask("HEAD", "documents", params={"path": "wiki/a.md"})
    assert (head.status_code, head.headers["content-length"], head.content) == (200, "6", b"")
    assert head.headers["etag"] == etag("héllo".encode())
    stat = (await rest.ask("GET", "documents/stat", params={"path": "wiki/a.md"})).json()
    assert (stat["path"], stat["size"], stat["is_dir"], stat["checksum_sha256"]) == (
        "wiki/a.md",
        6,
        False,
        digest("héllo".encode()),
    )
    assert stat["mtime"]


async def test_a_folder_has_a_stat_and_no_content(rest: Rest) -> None:
    await rest.put("wiki/a.md")
    assert (await rest.ask("GET", "documents/stat", params={"path": "wiki"})).json()["is_dir"] is True
    assert (await rest.read("wiki")).status_code == 404
    assert (await rest.ask("HEAD", "documents", params={"path": "wiki"})).status_code == 404


async def test_a_folder_is_listed_as_asked(rest: Rest) -> None:
    for path in ("a.md", "wiki/b.md", "wiki/deep/c.txt", "wiki/_made.md"):
        await rest.put(path)
    assert await rest.paths() == ["a.md", "wiki/b.md", "wiki/deep/c.txt"]
    assert await rest.paths(include_generated="true") == ["a.md", "wiki/_made.md", "wiki/b.md", "wiki/deep/c.txt"]
    assert await rest.paths(glob="*.txt") == ["wiki/deep/c.txt"]
    assert await rest.paths(dir="wiki", recursive="false") == ["wiki/b.md", "wiki/deep"]
    assert await rest.paths(recursive="false") == ["a.md", "wiki"]
    assert await rest.paths(dir="nowhere") == []
    shown = (await rest.ask("GET", "documents", params={"dir": "wiki"})).json()
    assert shown["truncated"] is False
    assert shown["items"][0].keys() == {"path", "size", "mtime", "is_dir"}


async def test_a_renamed_document_keeps_its_content_and_its_id(rest: Rest) -> None:
    created = (await rest.post("documents", {"path": "a.md", "content": "text"})).json()
    await rest.put("b.md", "in the way")
    moved = await rest.post("documents/rename", {"from": "a.md", "to": "b.md"})
    assert (moved.status_code, moved.headers["etag"]) == (204, etag(b"text"))
    assert (await rest.read("b.md")).text == "text"
    assert (await rest.read("a.md")).status_code == 404
    opened = await rest.brains.open("notes")
    assert (await opened.run(opened.store.get, "b.md")).id == created["id"]


async def test_a_created_document_answers_with_its_record(rest: Rest) -> None:
    body: dict[str, Any] = {
        "path": "memory/global/run.md",
        "title": "Saturday run",
        "content": "# Ten kilometres\n\nin 55 minutes",
        "metadata": {"tags": "running", "count": 3, "done": True, "by": None},
        "source": "reflect",
    }
    created = await rest.post("documents", body)
    record = created.json()
    assert (created.status_code, record["path"], record["title"]) == (201, body["path"], "Saturday run")
    assert (record["source"], record["content_type"], record["deleted_at"]) == ("reflect", "text/markdown", None)
    assert record["byte_size"] == len(body["content"])
    assert record["metadata"].items() >= {"tags": "running", "count": 3, "done": True, "by": None}.items()
    assert created.headers["etag"] == f'"{record["checksum_sha256"]}"'
    assert (await rest.read(body["path"])).text == body["content"]


async def test_a_document_without_a_path_gets_a_free_one_from_its_title(rest: Rest) -> None:
    paths = [(await rest.post("documents", {"content": "# Café au lait\n\ntext"})).json()["path"] for _ in range(3)]
    assert paths == [
        "memory/global/cafe-au-lait.md",
        "memory/global/cafe-au-lait-2.md",
        "memory/global/cafe-au-lait-3.md",
    ]
    assert (await rest.post("documents", {"content": "no heading"})).json()["path"] == "memory/global/note.md"


async def test_a_document_that_is_there_is_not_created_again(rest: Rest) -> None:
    await rest.put("a.md", "first")
    assert told(await rest.post("documents", {"path": "a.md", "content": "second"})) == (409, "conflict", "conflict")
    assert (await rest.read("a.md")).text == "first"


async def test_a_document_cannot_lie_beneath_another(rest: Rest) -> None:
    await rest.put("a")
    assert told(await rest.put("a/b.md"))[:2] == (409, "conflict")
    assert told(await rest.put("a/b.md", if_match="*"))[:2] == (412, "conflict")
    await rest.put("c/d.md")
    assert told(await rest.put("c", if_none_match="*"))[:2] == (409, "conflict")


@requirement("rest.conditions")
async def test_a_write_under_a_condition_that_holds_is_made(rest: Rest) -> None:
    first = await rest.put("a.md", "one", if_none_match="*")
    assert first.status_code == 204
    second = await rest.put("a.md", "two", if_match=first.headers["etag"])
    assert second.status_code == 204
    assert (await rest.put("a.md", "three", if_match="*")).status_code == 204
    third = etag(b"three")
    assert (await rest.append("a.md", b"!", if_match=f'"0000", {third}')).status_code == 204
    moved = await rest.post("documents/rename", {"from": "a.md", "to": "b.md"}, if_match=etag(b"three!"))
    assert moved.status_code == 204
    assert (await rest.delete("b.md", if_match=moved.headers["etag"])).status_code == 204


@requirement("rest.conditions")
async def test_a_change_under_a_condition_that_fails_is_412_and_changes_nothing(rest: Rest) -> None:
    await rest.put("a.md", "one")
    stale = etag(b"zero")
    refused = [
        await rest.put("a.md", "two", if_match=stale),
        await rest.put("a.md", "two", if_match=f"{stale}, W/{stale}"),
        await rest.put("a.md", "two", if_match=f'W/"{digest(b"one")}"'),
        await rest.put("a.md", "two", if_none_match="*"),
        await rest.put("a.md", "two", if_match="*", if_none_match="*"),
        await rest.put("new.md", "two", if_match="*"),
        await rest.put("new.md", "two", if_match=stale),
        await rest.append("a.md", b"two", if_match=stale),
        await rest.delete("a.md", if_match=stale),
        await rest.delete("a.md", if_none_match="*"),
        await rest.post("documents/rename", {"from": "a.md", "to": "b.md"}, if_match=stale),
    ]
    assert [told(response) for response in refused] == [(412, "conflict", "conflict")] * len(refused)
    assert (await rest.read("a.md")).text == "one"
    assert await rest.paths() == ["a.md"]


async def test_the_problem_of_a_stale_write_tells_what_is_there(rest: Rest) -> None:
    await rest.put("a.md", "one")
    refused = await rest.put("a.md", "two", if_match=etag(b"zero"))
    assert refused.json()["checksum_sha256"] == digest(b"one")


async def test_a_reader_who_has_it_is_told_so(rest: Rest) -> None:
    etag = (await rest.put("a.md", "one")).headers["etag"]
    for given in (etag, f'"x", {etag}', f"W/{etag}", "*"):
        found = await rest.read("a.md", if_none_match=given)
        assert (found.status_code, found.content, found.headers["etag"]) == (304, b"", etag)
    for junk in ('"other"', "junk", '"'):
        assert (await rest.read("a.md", if_none_match=junk)).status_code == 200
    assert (await rest.read("a.md", range="bytes=junk")).text == "one"


async def test_the_same_key_makes_a_change_once(rest: Rest) -> None:
    first = await rest.append("log.md", b"line\n", idempotency_key="k1")
    again = await rest.append("log.md", b"line\n", idempotency_key="k1")
    assert (again.status_code, again.headers["x-commit-sha"]) == (204, first.headers["x-commit-sha"])
    assert (await rest.read("log.md")).text == "line\n"
    created = [(await rest.post("documents", {"content": "# A"}, idempotency_key="k2")).json() for _ in range(2)]
    assert created[0] == created[1]
    batch = {"reason": "r", "ops": [{"type": "append", "path": "log.md", "content_base64": base64(b"more\n")}]}
    answers = [(await rest.post("documents/batch-ops", batch, idempotency_key="k3")).json() for _ in range(2)]
    assert answers[0]["commit_sha"] == answers[1]["commit_sha"]
    assert (await rest.read("log.md")).text == "line\nmore\n"


async def test_a_key_that_was_used_for_something_else_is_a_conflict(rest: Rest) -> None:
    await rest.put("a.md", "one", idempotency_key="k")
    assert told(await rest.put("a.md", "two", idempotency_key="k")) == (409, "conflict", "conflict")
    assert told(await rest.put("a.md", "two", idempotency_key="k", if_match="*"))[0] == 409
    assert (await rest.read("a.md")).text == "one"


async def test_the_keys_of_two_callers_do_not_meet(rest: Rest) -> None:
    assert (await rest.put("a.md", "one", idempotency_key="k", x_test_user="local:ann")).status_code == 204
    assert (await rest.put("b.md", "two", idempotency_key="k", x_test_user="local:bob")).status_code == 204
    assert await rest.paths() == ["a.md", "b.md"]


async def test_a_batch_is_one_commit(rest: Rest) -> None:
    await rest.put("old.md", "old")
    await rest.put("gone.md")
    ops = [
        {"type": "write", "path": "a.md", "content_base64": base64(b"one\n")},
        {"type": "append", "path": "a.md", "content_base64": base64(b"two\n")},
        {"type": "rename", "path": "old.md", "to": "new.md"},
        {"type": "delete", "path": "gone.md", "expected": digest(b"x")},
    ]
    body = {"reason": "tidy", "message": "more", "author": "Ann", "email": "ann@example.com", "ops": ops}
    answer = await rest.post("documents/batch-ops", body)
    assert (answer.status_code, answer.json()["committed"]) == (200, 4)
    assert await rest.paths() == ["a.md", "new.md"]
    assert (await rest.read("a.md")).text == "one\ntwo\n"
    opened = await rest.brains.open("notes")
    [newest] = await opened.run(lambda: opened.store.commits(limit=1))
    assert (newest.id, newest.reason, newest.author) == (answer.json()["commit_sha"], "tidy", "Ann")


BAD_OPS: list[tuple[dict[str, str], int]] = [
    ({"type": "delete", "path": "no.md"}, 404),
    ({"type": "rename", "path": "no.md", "to": "b.md"}, 404),
    ({"type": "write", "path": "kept.md", "content_base64": "", "expected": ""}, 409),
    ({"type": "write", "path": "../x", "content_base64": ""}, 400),
    ({"type": "write", "path": "b.md", "content_base64": "not base64!"}, 400),
    ({"type": "write", "path": "b.md"}, 400),
    ({"type": "rename", "path": "kept.md"}, 400),
    ({"type": "delete", "path": "kept.md", "to": "b.md"}, 400),
    ({"type": "chmod", "path": "kept.md"}, 400),
    ({"path": "kept.md"}, 400),
]


async def test_a_batch_with_one_bad_change_makes_none(rest: Rest) -> None:
    await rest.put("kept.md", "kept")
    good = {"type": "write", "path": "new.md", "content_base64": base64(b"new")}
    for op, status in BAD_OPS:
        response = await rest.post("documents/batch-ops", {"reason": "r", "ops": [good, op]})
        assert told(response)[0] == status, op
        assert await rest.paths() == ["kept.md"]


async def test_a_write_of_two_mebibytes_is_taken_and_one_byte_more_is_not(rest: Rest) -> None:
    assert (await rest.put("a.md", b"x" * WRITE_BYTES)).status_code == 204
    refused = await rest.put("a.md", b"y" * (WRITE_BYTES + 1))
    assert told(refused) == (413, "payload_too_large", "too_large")
    assert refused.json()["limit"] == WRITE_BYTES
    assert told(await rest.append("a.md", b"y" * (WRITE_BYTES + 1)))[0] == 413
    assert (await rest.read("a.md")).content == b"x" * WRITE_BYTES
    assert await rest.still_serves()


async def test_a_body_without_a_length_is_measured_while_it_comes(rest: Rest) -> None:
    async def endless() -> AsyncGenerator[bytes, None]:
        for _ in range(WRITE_BYTES // 65536 + 1):
            yield b"x" * 65536

    refused = await rest.ask("PUT", "documents", params={"path": "a.md"}, content=endless(), headers=MARKDOWN)
    assert told(refused)[0] == 413
    assert await rest.paths() == []


async def test_numbers_are_kept_exactly(rest: Rest) -> None:
    metadata = {"big": 2**63 - 1, "small": -(2**63), "odd": 2**53 + 1, "part": 0.1}
    body = {"content": "x", "metadata": metadata}
    for headers in ({}, {"idempotency_key": "k"}):
        assert (await rest.post("documents", body, **headers)).json()["metadata"] == metadata


@pytest.mark.slow
@pytest.mark.timeout(60)
async def test_a_list_has_ten_thousand_entries_at_the_most_and_says_so(rest: Rest) -> None:
    brain = await rest.brains.get("notes")
    # Before the hub opens the brain, so that nothing but the journal has to take them in.
    vault = open_vault(rest.brains.library.folder_of(brain), brain.id)
    for part in range(10):
        writes = [Write(f"{part}/{number}.md", b"") for number in range(1001)]
        vault.commit(ChangeSet(changes=writes, actor="local:test", reason="many"))
    vault.close()
    listed = (await rest.ask("GET", "documents", params={"recursive": "true"})).json()
    assert (len(listed["items"]), listed["truncated"]) == (10_000, True)
    listed = (await rest.ask("GET", "documents", params={"dir": "3"})).json()
    assert (len(listed["items"]), listed["truncated"]) == (1001, False)


@pytest.mark.slow
@pytest.mark.timeout(60)
async def test_a_batch_takes_eight_mebibytes_and_a_thousand_and_twenty_four_changes(rest: Rest) -> None:
    def ops(count: int, size: int) -> list[dict[str, str]]:
        return [{"type": "write", "path": f"d/{n}.md", "content_base64": base64(b"x" * size)} for n in range(count)]

    over = await rest.post("documents/batch-ops", {"reason": "r", "ops": ops(8, BATCH_BYTES // 8 + 1)})
    assert told(over) == (413, "payload_too_large", "too_large")
    many = await rest.post("documents/batch-ops", {"reason": "r", "ops": ops(1025, 1)})
    assert told(many) == (400, "validation_error", "invalid_arguments")
    assert many.json()["field"] == "ops"
    none = await rest.post("documents/batch-ops", {"reason": "r", "ops": []})
    assert told(none)[0] == 400
    assert await rest.paths() == []
    exact = await rest.post("documents/batch-ops", {"reason": "r", "ops": ops(8, BATCH_BYTES // 8)})
    assert exact.status_code == 200
    most = await rest.post("documents/batch-ops", {"reason": "r", "ops": ops(1024, 1)})
    assert (most.status_code, most.json()["committed"]) == (200, 1024)
