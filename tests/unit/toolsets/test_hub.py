"""Toolset `hub`: the local context, as a tool, a prompt, resources and a template, under two names."""

import json
from pathlib import Path
from typing import Any

import pytest

from limen.calls.call import Kind
from limen.errors import LimenError
from limen.toolsets.guide import Guide
from limen.toolsets.hub import hub_toolset
from tests.house import House, a_call, a_caller, a_house
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

SCHEMES = ["limen", "secondbrain"]


@pytest.fixture
def house(tmp_path: Path) -> House:
    (tmp_path / "a.md").write_text("# Approvals\n\nA person says yes.\n\n# Audit\n\nEvery call is kept.\n", "utf-8")
    (tmp_path / "b.md").write_text("# Wire\n\nFrames and a person.\n", "utf-8")
    return a_house(providers={"hub": hub_toolset(Guide(tmp_path))})


async def run(house: House, kind: Kind, method: str, name: str, arguments: dict[str, Any] | None = None) -> Any:
    call = a_call(name, kind=kind, method=method, arguments=json.dumps(arguments or {}).encode())
    return json.loads((await house.pipeline.run(call)).payload)


async def refusal(house: House, kind: Kind, method: str, name: str, arguments: dict[str, Any]) -> LimenError:
    with pytest.raises(LimenError) as refused:
        await run(house, kind, method, name, arguments)
    return refused.value


async def search(house: House, **arguments: Any) -> Any:
    return await run(house, "tool", "tools/call", "search_local_context", arguments)


async def read(house: House, uri: str) -> Any:
    [contents] = (await run(house, "resource", "resources/read", uri))["contents"]
    return contents


@requirement("hub.search")
async def test_searching_finds_passages_as_text_and_as_data(house: House) -> None:
    answer = await search(house, query="person")
    found = answer["structuredContent"]
    assert {(hit["path"], hit["title"]) for hit in found["results"]} == {("a.md", "Approvals"), ("b.md", "Wire")}
    assert "A person says yes." in answer["content"][0]["text"]
    assert answer["isError"] is False


@requirement("hub.search")
async def test_searching_for_nothing_that_is_there_says_so(house: House) -> None:
    answer = await search(house, query="zebra")
    assert answer["structuredContent"]["results"] == []
    assert "zebra" in answer["content"][0]["text"]


@requirement("hub.search")
async def test_the_limit_is_kept(house: House) -> None:
    assert len((await search(house, query="person call", limit=1))["structuredContent"]["results"]) == 1


@requirement("hub.arguments")
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": 7}, "query"),
        ({"query": "x" * 2001}, "query"),
        ({"query": "a", "limit": 0}, "limit"),
        ({"query": "a", "limit": 51}, "limit"),
        ({"query": "a", "limit": "5"}, "limit"),
        ({"query": "a", "limt": 5}, "limt"),
    ],
)
async def test_wrong_arguments_are_an_error_that_names_the_field(
    house: House, arguments: dict[str, Any], named: str
) -> None:
    answer = await search(house, **arguments)
    assert answer["isError"] is True
    assert named in answer["content"][0]["text"]


@requirement("hub.prompt")
async def test_the_prompt_carries_what_was_found(house: House) -> None:
    prompt = await run(house, "prompt", "prompts/get", "summarize_local_context", {"query": "approvals", "limit": "1"})
    [message] = prompt["messages"]
    assert message["role"] == "user"
    assert "A person says yes." in message["content"]["text"]
    assert "Frames" not in message["content"]["text"]


@requirement("hub.prompt", "hub.arguments")
@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "query"),
        ({"query": "a", "limit": "many"}, "limit"),
        ({"query": "a", "limit": "0"}, "limit"),
        ({"query": "a", "limit": "51"}, "limit"),
        ({"query": "a", "limit": "-1"}, "limit"),
        ({"query": "a", "limit": "9" * 5000}, "limit"),
        ({"query": "a", "limit": ""}, "limit"),
        ({"query": "a", "mood": "x"}, "mood"),
    ],
)
async def test_the_prompt_refuses_wrong_arguments(house: House, arguments: dict[str, Any], field: str) -> None:
    error = await refusal(house, "prompt", "prompts/get", "summarize_local_context", arguments)
    assert (error.code, error.facts["field"]) == ("invalid_arguments", field)


@requirement("hub.resources", "hub.aliases")
@pytest.mark.parametrize("scheme", SCHEMES)
async def test_help_and_status_can_be_read_under_both_names(house: House, scheme: str) -> None:
    help_page = await read(house, f"{scheme}://context/help")
    assert help_page["mimeType"] == "text/markdown"
    assert "search_local_context" in help_page["text"]
    status = await read(house, f"{scheme}://context/status")
    assert json.loads(status["text"]) | {"version": ""} == {
        "version": "",
        "protocolVersions": ["2025-11-25", "2026-07-28"],
        "source": "documentation",
        "documents": 2,
        "sections": 3,
    }


@requirement("hub.resources", "hub.aliases")
@pytest.mark.parametrize("scheme", SCHEMES)
async def test_the_search_template_is_the_search_as_a_resource(house: House, scheme: str) -> None:
    contents = await read(house, f"{scheme}://context/search?query=person&limit=1")
    assert contents["mimeType"] == "application/json"
    assert len(json.loads(contents["text"])["results"]) == 1


@requirement("hub.resources", "hub.arguments")
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "query"),
        ("?query=", "query"),
        ("?query=%20", "query"),
        ("?limit=5", "query"),
        ("?query=a&limit=x", "limit"),
    ],
)
async def test_the_search_template_refuses_wrong_values(house: House, query: str, field: str) -> None:
    error = await refusal(house, "resource", "resources/read", f"limen://context/search{query}", {})
    assert (error.code, error.facts["field"]) == ("invalid_arguments", field)


@requirement("hub.resources")
@pytest.mark.parametrize(
    "uri", ["limen://context/", "limen://context/HELP", "limen://context/search?other=1", "http://context/help"]
)
async def test_what_is_not_offered_is_not_found(house: House, uri: str) -> None:
    assert (await refusal(house, "resource", "resources/read", uri, {})).code == "resource_not_found"


@requirement("hub.aliases")
async def test_every_capability_is_listed_once_under_limens_name(house: House) -> None:
    listed = {kind: [item.name for item in await house.pipeline.list(kind, a_caller())] for kind in ("tool", "prompt")}
    assert listed == {"tool": ["search_local_context"], "prompt": ["summarize_local_context"]}
    resources = [item.name for item in await house.pipeline.list("resource", a_caller())]
    assert resources == ["limen://context/help", "limen://context/status"]
    templates = [item.name for item in await house.pipeline.list("template", a_caller())]
    assert templates == ["limen://context/search{?query,limit}"]


@requirement("hub.completion")
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("prompt", "summarize_local_context"),
        ("template", "limen://context/search{?query,limit}"),
        ("template", "secondbrain://context/search{?query,limit}"),
    ],
)
async def test_query_and_limit_are_completed(house: House, kind: Kind, name: str) -> None:
    async def complete(argument: str, value: str) -> Any:
        found = await run(house, kind, "completion/complete", name, {"name": argument, "value": value})
        return found["completion"]["values"]

    assert await complete("query", "au") == ["Audit"]
    assert await complete("limit", "5") == ["5", "50"]
    assert await complete("limit", "x") == []


@requirement("hub.search")
async def test_everything_in_the_hub_only_reads(house: House) -> None:
    found = [
        await house.pipeline.list(kind, a_caller(tier="read")) for kind in ("tool", "prompt", "resource", "template")
    ]
    assert {item.action for items in found for item in items} == {"read"}
