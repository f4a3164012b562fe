"""Whatever is asked of memory: a clear code, nothing written, nothing lost, and the next call works."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import requirement
from tests.road.memorytools import Memory, open_memory

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]

NAUGHTY = [
    "undefined",
    "0",
    "-1/0",
    "1e1000",
    "\ufeff begins with a mark",
    "\u200b",
    "\u202etest\u202d",
    "z\u0361\u035c\u0338a\u0334\u0348lgo",
    "田中さんにあげて下さい 社會科學院 울란바토르",
    "ﷺ ثم نفس سقطت ᚛ᚄᚓᚐᚋ᚜",
    "👩‍❤️‍💋‍👩 🇺🇸🇷 1️⃣",
    "\U0010ffff \ufffe \ue000",
    "é é",
    "<script>alert(1)</script>",
    "1;DROP TABLE users",
    '\' OR 1=1 -- " OR ""="',
    "$(touch /tmp/x) `ls` ${HOME} %s%n {{7*7}}",
    "../../../../etc/passwd%00",
    "line\r\none\rtwo\x0b\x0c\x85\u2028\u2029end\n\n\n",
    "nul\0bell\x07escape\x1b[31m",
    "Scunthorpe General Hospital",
    "---\ntitle: !!python/object/apply:os.system [x]\n---\n",
    "---\n- a list\n---\ntext",
    "---\ntitle: open for ever",
    "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs",
    "# " + "h" * 5000,
    "x" * 200_000,
]


QUERIES = [
    *(
        '"',
        '""',
        '"tide',
        "*",
        "**",
        "tide*",
        "NEAR(",
        "NEAR(tide moon, 3)",
        "a OR",
        "OR",
        "AND tide",
        "NOT",
        "NOT tide",
    ),
    *(
        "(tide",
        ")",
        "tide)",
        "title:tide",
        "tide^2",
        "-tide",
        "+",
        "{",
        "\\",
        "'; --",
        "%",
        "?",
        "~tide",
        "tide AND OR",
    ),
    *("\0", "\ufffd", "🌊", "the of and", "\t\n "),
]


@pytest.fixture
async def memory(anyio_backend: str, tmp_path: Path) -> AsyncGenerator[Memory, None]:
    async with open_memory(tmp_path) as opened:
        yield opened


@pytest.fixture
async def filled(memory: Memory) -> Memory:
    await memory.tool("memory_remember", content="# Tides\n\nThe spring tide follows the moon.", path="wiki/tides.md")
    return memory


def files_holding(folder: Path, content: bytes) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and file.read_bytes() == content]


@requirement("memory.bad-input")
async def test_strange_texts_come_back_byte_for_byte(memory: Memory) -> None:
    paths: set[str] = set()
    for text in NAUGHTY:
        kept = await memory.tool("memory_remember", content=text)
        paths.add(kept["path"])
        assert await memory.read(kept["path"]) == text.encode()
        assert kept["byte_size"] == len(text.encode())
    assert len(paths) == len(NAUGHTY)


@requirement("memory.bad-input")
async def test_strange_texts_are_titles_and_tags_or_refused_by_name(memory: Memory) -> None:
    for text in NAUGHTY:
        title, tag = text[:512], text[:64]
        code = await memory.code("memory_remember", content="body", title=title, tags=[tag])
        assert code in ("", "invalid_arguments"), (text[:40], code)
        assert await memory.code("memory_search", query=text[:4096]) in ("", "invalid_arguments")
    assert await memory.still_works()


@pytest.mark.parametrize(
    "arguments",
    [
        {"content": "x", "title": ""},
        {"content": "x", "title": "t" * 1_000_000},
        {"content": ""},
        {"content": "x" * 5_000_001},
        {"content": None},
        {"content": 7},
        {},
        {"content": "x", "tags": "not a list"},
        {"content": "x", "tags": [""]},
        {"content": "x", "tags": ["t"] * 65},
        {"content": "x", "tags": ["t" * 65]},
        {"content": "x", "unknown": 1},
        {"content": "x", "brain": ""},
        {"content": "x", "path": ""},
        {"content": "x", "path": "p" * 1025},
    ],
    ids=lambda arguments: str(arguments)[:40],
)
@requirement("memory.bad-input")
async def test_arguments_that_are_wrong_change_nothing(memory: Memory, arguments: dict[str, Any]) -> None:
    assert await memory.code("memory_remember", **arguments) == "invalid_arguments"
    assert await memory.still_works()


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "a/../../x.md",
        "..",
        ".",
        "a//b.md",
        "a\\b.md",
        "a\0.md",
        ".git/config",
        ".GIT/x",
        ".limen/x",
        "a/",
        "//x",
    ],
)
@requirement("memory.bad-input")
async def test_a_path_that_leads_astray_is_refused(memory: Memory, path: str, tmp_path: Path) -> None:
    assert await memory.code("memory_remember", content="astray", path=path) == "invalid_path"
    assert files_holding(tmp_path, b"astray") == []


@requirement("memory.bad-input")
async def test_the_same_path_again_is_the_same_document_and_the_past_stays(memory: Memory) -> None:
    first = await memory.tool("memory_remember", content="old words", path="wiki/a.md")
    second = await memory.tool("memory_remember", content="new words", path="/wiki/a.md")
    assert (first["id"], first["path"]) == (second["id"], second["path"])
    history = (await memory.run("brain_history", path="wiki/a.md"))["items"]
    assert [item["operations"][0]["kind"] for item in history] == ["updated", "created"]
    old = await memory.run("document_read", path="wiki/a.md", at=first["commit_sha"])
    assert old["checksum_sha256"] == first["checksum_sha256"]


@requirement("memory.bad-input")
async def test_a_path_inside_a_document_is_refused(filled: Memory) -> None:
    assert await filled.code("memory_remember", content="x", path="wiki/tides.md/x.md") in ("conflict", "invalid_path")
    assert await filled.code("memory_remember", content="x", path="wiki") in ("conflict", "invalid_path")
    assert await filled.still_works()


@pytest.mark.parametrize(
    "query",
    QUERIES,
)
@requirement("memory.bad-input")
async def test_no_query_is_a_failure_of_the_server(filled: Memory, query: str) -> None:
    assert await filled.code("memory_search", query=query) in ("", "invalid_arguments")
    assert await filled.code("memory_recall", query=query, session_id="s") in ("", "invalid_arguments")
    assert await filled.found("spring tide") == ["wiki/tides.md"]


@requirement("memory.bad-input")
async def test_a_query_of_ten_thousand_terms_is_refused_by_its_length(filled: Memory) -> None:
    long = " ".join(f"term{number}" for number in range(10_000))
    assert await filled.code("memory_search", query=long) == "invalid_arguments"
    assert await filled.code("memory_recall", query=long) == "invalid_arguments"
    assert await filled.found((long[:3900] + " tide")[-4096:]) == ["wiki/tides.md"]


@pytest.mark.parametrize("limit", [-1, 0, 101, 10**9, 2**70, 1.5, "10", None, True])
@requirement("memory.bad-input")
async def test_a_limit_that_is_none_is_refused(filled: Memory, limit: object) -> None:
    assert await filled.code("memory_search", query="tide", top_k=limit) == "invalid_arguments"
    assert await filled.code("memory_recall", query="tide", top_k=limit) == "invalid_arguments"
    assert await filled.found("tide", top_k=1) == ["wiki/tides.md"]


@pytest.mark.parametrize(
    "day",
    [
        "Mars/Phobos",
        "2023-13-45",
        "2023-05-08T25:00:00+99:99",
        "now",
        "0",
        "-1",
        "9" * 100,
        "2023-05-08T00:00:00[X]",
        "\0",
    ],
)
@requirement("memory.bad-input")
async def test_a_day_that_is_none_is_refused_by_name(filled: Memory, day: str) -> None:
    with pytest.raises(Exception, match="question_date") as failure:
        await filled.run("brain_search", query="tide yesterday", question_date=day)
    assert getattr(failure.value, "code", "") == "invalid_arguments"
    assert (await filled.run("brain_search", query="tide", question_date="2023-05-08"))["hits"]


@requirement("memory.bad-input")
async def test_what_was_changed_deleted_or_marked_in_an_editor_is_noticed(filled: Memory, tmp_path: Path) -> None:
    await filled.tool("memory_remember", content="# Gone\n\nebb", path="wiki/gone.md")
    root = await filled.root()
    (root / "wiki" / "tides.md").write_text("# Tides\n\nNow about herrings.", encoding="utf-8")
    (root / "wiki" / "gone.md").unlink()
    marked = "# Fight\n\n<<<<<<< HEAD\nmackerel\n=======\ncod\n>>>>>>> theirs\n"
    (root / "wiki" / "fight.md").write_text(marked, encoding="utf-8")
    async with open_memory(tmp_path) as other:
        assert await other.found("herrings") == ["wiki/tides.md"]
        assert await other.found("moon") == []
        assert await other.found("ebb") == []
        assert await other.found("mackerel") == ["wiki/fight.md"]
        assert await other.read("wiki/fight.md") == marked.encode()
        history = (await other.run("brain_history", path="wiki/tides.md"))["items"]
        assert len(history) == 2
        again = await other.tool("memory_remember", content="# Gone\n\nback", path="wiki/gone.md")
        assert await other.read(again["path"]) == b"# Gone\n\nback"
        assert await other.still_works()
    assert await filled.found("herrings") == ["wiki/tides.md"]


@requirement("memory.bad-input")
async def test_an_edit_beside_us_is_kept_in_the_past_when_we_write_over_it(filled: Memory) -> None:
    file = await filled.root() / "wiki" / "tides.md"
    file.write_text("written in an editor", encoding="utf-8")
    await filled.tool("memory_remember", content="written by a tool", path="wiki/tides.md")
    history = (await filled.run("brain_history", path="wiki/tides.md"))["items"]
    versions = [(await filled.run("document_read", path="wiki/tides.md", at=item["id"]))["content"] for item in history]
    assert len(set(versions)) == 3


@pytest.mark.parametrize("trouble", ["detached", "rebasing", "merging", "locked", "removed", "broken"])
@requirement("memory.bad-input")
async def test_git_in_a_strange_state_holds_up_nobody(filled: Memory, trouble: str) -> None:
    assert await filled.git_has_caught_up()
    root = await filled.root()
    git = root / ".git"
    sha = (await filled.run("brain_history"))["items"][0]["git_sha"] + "\n"
    match trouble:
        case "detached":
            (git / "HEAD").write_text(sha)
        case "rebasing":
            (git / "HEAD").write_text(sha)
            (git / "rebase-merge").mkdir()
            (git / "rebase-merge" / "head-name").write_text("refs/heads/main\n")
        case "merging":
            (git / "MERGE_HEAD").write_text(sha)
        case "locked":
            (git / "index.lock").touch()
            (git / "HEAD.lock").touch()
        case "removed":
            # Away in one step: Limen may be writing in it.
            git.rename(root.parent.parent / "removed.git")
        case _:
            (git / "HEAD").write_bytes(b"\0\xff")
    kept = await filled.tool("memory_remember", content="# After\n\nherring", path="wiki/after.md")
    assert await filled.found("herring") == ["wiki/after.md"]
    assert await filled.read(kept["path"]) == b"# After\n\nherring"
    assert await filled.still_works()
    if trouble == "removed":
        assert await filled.git_has_caught_up()
        assert git.is_dir()
