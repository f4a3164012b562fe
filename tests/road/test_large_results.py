"""A result that would flood a client comes as its beginning and a resource; nobody but its caller reads that."""

import json
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from limen.gateway.shelf import Shelf, ShelfLimits, open_shelf
from tests.environment import Home
from tests.house import House, a_caller, a_house
from tests.requirements import requirement
from tests.road.doors import SESSION, STATELESS, Client, Message, open_client, open_memory
from tests.road.shell import Shell
from tests.road.upstreams import a_server, open_threshold
from tests.servers.wordy import letters

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(20)]

LIMIT = 20_000
LONG = 100_000


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncGenerator[Shelf]:
    """A shelf for everything over twenty thousand bytes."""
    async with open_shelf(tmp_path / "results", ShelfLimits(result_bytes=LIMIT)) as opened:
        yield opened


@pytest.fixture
async def house(tmp_path: Path, shelf: Shelf) -> AsyncGenerator[House]:
    """A house with a wordy server and the shelf."""
    async with open_threshold({"wordy": a_server("wordy")}, tmp_path, shelf=shelf) as threshold:
        await threshold.gateway.get("wordy").discovered()
        yield a_house(providers={"shelf": shelf, "gateway": threshold.gateway}, changes=threshold.house.changes)
        # Before the threshold looks for what is left open.
        await shelf.close()


@pytest.fixture(
    params=[("memory", SESSION), ("memory", STATELESS), ("http", SESSION), ("http", STATELESS)], ids="-".join
)
async def client(request: pytest.FixtureRequest, house: House) -> AsyncGenerator[Client]:
    """A client at any door."""
    async with open_client(house, *request.param) as opened:
        yield opened


@pytest.fixture
async def near(house: House) -> AsyncGenerator[Client]:
    """A client at one door, for what is the same at all of them."""
    async with open_client(house, "memory", SESSION) as opened:
        yield opened


def link_of(result: Message) -> Message:
    """The link in a result that was cut."""
    return next(block for block in result["content"] if block["type"] == "resource_link")


async def whole(client: Client, uri: str | None) -> str:
    """All pages of a resource, one after the other."""
    pages: list[str] = []
    while uri is not None:
        result = await client.result("resources/read", {"uri": uri})
        assert result["contents"][0]["uri"] == uri
        pages.append(result["contents"][0]["text"])
        uri = result["_meta"].get("limen/next")
    return "".join(pages)


@requirement("gateway.large-results")
async def test_a_long_text_comes_as_its_beginning_and_is_read_in_pages(client: Client) -> None:
    result = await client.call("wordy__write", {"chars": LONG})
    head, said, link = result["content"]
    assert head["text"] == letters(LONG)[:4096] + "\n[cut here]"
    assert "100,000 characters" in said["text"]
    assert link["uri"] in said["text"]
    assert link["size"] == len(letters(LONG).encode())
    assert result["_meta"]["of"] == "wordy"
    assert await whole(client, link["uri"]) == letters(LONG)


async def test_a_page_says_where_it_is_and_where_the_next_one_is(near: Client) -> None:
    uri = link_of(await near.call("wordy__write", {"chars": LONG}))["uri"]
    page = await near.result("resources/read", {"uri": f"{uri}?offset=10&limit=100"})
    following = f"{uri}?offset=110&limit=100"
    assert page["_meta"] == {"limen/offset": 10, "limen/total": LONG, "limen/next": following}
    assert page["contents"][0]["text"] == letters(LONG)[10:110]
    assert page["contents"][0]["_meta"] == page["_meta"]
    assert following in page["contents"][1]["text"]
    last = await near.result("resources/read", {"uri": f"{uri}?offset={LONG - 5}"})
    assert "limen/next" not in last["_meta"]
    assert [item["text"] for item in last["contents"]] == [letters(LONG)[-5:]]
    beyond = await near.result("resources/read", {"uri": f"{uri}?offset={LONG + 5}"})
    assert beyond["contents"][0]["text"] == ""


async def test_what_is_within_the_limit_passes_as_it_is(near: Client) -> None:
    result = await near.call("wordy__write", {"chars": 4000})
    assert [block["text"] for block in result["content"]] == [letters(4000)]


async def test_a_failure_stays_one(near: Client) -> None:
    result = await near.call("wordy__fail", {"chars": LONG})
    assert result["isError"] is True
    assert await whole(near, link_of(result)["uri"]) == letters(LONG)
    assert near.house.trail.outcomes[0] == "tool_error"


async def test_structured_content_within_the_limit_is_kept(near: Client) -> None:
    for tool in ("wordy__table", "wordy__promised"):
        result = await near.call(tool, {"chars": LONG, "rows": 10})
        assert result["structuredContent"] == {"rows": list(range(10))}
        assert await whole(near, link_of(result)["uri"]) == letters(LONG)


async def test_promised_structured_content_beyond_the_limit_lets_the_result_pass_whole(near: Client) -> None:
    result = await near.call("wordy__promised", {"chars": 50, "rows": 10_000})
    assert result["structuredContent"] == {"rows": list(range(10_000))}
    assert [block["text"] for block in result["content"]] == [letters(50)]


async def test_other_structured_content_beyond_the_limit_is_read_behind_the_text(near: Client) -> None:
    result = await near.call("wordy__table", {"chars": 50, "rows": 10_000})
    assert "structuredContent" not in result
    kept = await whole(near, link_of(result)["uri"])
    assert kept.startswith(letters(50) + "\n")
    assert json.loads(kept.removeprefix(letters(50))) == {"rows": list(range(10_000))}


async def test_pictures_stay_in_the_result(near: Client) -> None:
    result = await near.call("wordy__picture", {"bytes": LONG})
    assert [block["type"] for block in result["content"]] == ["image", "text"]
    result = await near.call("wordy__picture", {"bytes": LONG, "chars": LONG})
    assert [block["type"] for block in result["content"]] == ["text", "text", "image", "resource_link"]
    assert len(result["content"][2]["data"]) == LONG
    assert await whole(near, link_of(result)["uri"]) == letters(LONG)


async def test_other_content_is_read_as_its_json(near: Client) -> None:
    result = await near.call("wordy__mixed", {"chars": 30_000})
    before, resource, after = (await whole(near, link_of(result)["uri"])).split("\n")
    assert (before, after) == ("before", "after")
    assert json.loads(resource)["resource"] == {"uri": "x://r", "text": letters(30_000)}


@requirement("gateway.large-results-owned")
async def test_somebody_elses_result_is_not_found(house: House, near: Client) -> None:
    uri = link_of(await near.call("wordy__write", {"chars": LONG}))["uri"]
    async with open_memory(house, caller=a_caller("local:somebody-else")) as wire:
        stranger = Client(wire, STATELESS, "memory", house)
        refused = await stranger.error("resources/read", {"uri": uri})
        unknown = await stranger.error("resources/read", {"uri": "limen://results/AAAAAAAAAAAAAAAAAAAAAAAA"})
    assert refused["data"]["code"] == unknown["data"]["code"] == "resource_not_found"
    assert refused["message"].replace(uri, "") == unknown["message"].replace(unknown["data"]["uri"], "")


@pytest.mark.parametrize("query", ["offset=-1", "offset=x", "limit=0", "limit=9999999", "offset=" + "9" * 40])
async def test_a_page_that_cannot_be_is_refused_with_its_field(near: Client, query: str) -> None:
    uri = link_of(await near.call("wordy__write", {"chars": LONG}))["uri"]
    error = await near.error("resources/read", {"uri": f"{uri}?{query}"})
    assert error["data"]["code"] == "invalid_arguments"
    assert error["data"]["field"] == query.partition("=")[0]


async def test_one_template_tells_how_results_are_read(near: Client) -> None:
    templates = (await near.result("resources/templates/list"))["resourceTemplates"]
    assert [template["uriTemplate"] for template in templates] == ["limen://results/{id}{?offset,limit}"]


async def test_reading_is_recorded_like_everything_else(near: Client) -> None:
    uri = link_of(await near.call("wordy__write", {"chars": LONG}))["uri"]
    await near.result("resources/read", {"uri": uri})
    assert [row[:2] for row in near.house.trail.rows[-2:]] == [("intent", uri), ("outcome", uri)]


@pytest.mark.slow
def test_a_command_gets_results_whole_and_sees_every_tool(home: Home, limen_bin: Path) -> None:
    sample = {"command": sys.executable, "args": ["-m", "limen.samples.server"]}
    settings = {"servers": {"one": sample}, "expose": {"mode": "search"}, "limits": {"result_bytes": 1024}}
    (home.path / "limen.yaml").write_text(json.dumps(settings))
    shell = Shell(limen_bin, home)
    said = "word " * 1000
    done = shell.run("call", "one", "echo", "-", stdin=json.dumps({"text": said}))
    assert done.data["content"] == [{"type": "text", "text": said}]
    costs = shell.run("mcp", "tokens", "--json").data
    assert {"server": "one", "tools": 2}.items() <= next(
        row for row in costs["servers"] if row["server"] == "one"
    ).items()
