"""Toolsets: plain functions become capabilities, arguments are parsed once, and every failure names its field."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from limen.calls.call import Call
from limen.errors import InvalidArguments, LimenError, NotFound, ToolFailed
from limen.toolsets.provider import (
    Contents,
    Prompt,
    PromptArgument,
    Reply,
    Resource,
    Template,
    Tool,
    Toolset,
    text,
)
from tests.house import a_call, a_house
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


class Size(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A struct inside another."""

    width: int
    height: int = 1


class DrawArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `draw` takes."""

    shape: Annotated[str, Meta(min_length=1, description="What to draw.")]
    times: Annotated[int, Meta(ge=1, le=9)] = 1
    sizes: list[Size] = []


class NoArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing."""


async def draw(args: DrawArgs, call: Call) -> Reply:
    if args.shape == "impossible":
        raise ToolFailed("nobody can draw that")
    if args.shape == "odd":
        raise InvalidArguments("shape: draw something even", field="shape")
    if args.shape == "half":
        return Reply([text("half of it")], is_error=True)
    return Reply([text(args.shape * args.times)], structured={"drawn": args.times})


async def broken(args: NoArgs, call: Call) -> Reply:
    raise RuntimeError("a bug")


async def gone(args: NoArgs, call: Call) -> Reply:
    raise NotFound("it was here yesterday")


async def read_text(call: Call) -> Contents:
    return Contents("héllo", "text/markdown")


async def read_bytes(call: Call) -> Contents:
    return Contents(b"\x00\xff", "application/octet-stream")


async def read_page(call: Call, values: Mapping[str, str]) -> Contents:
    return Contents(json.dumps(values))


async def greet(call: Call, arguments: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
    return [{"role": "user", "content": text(f"greet {arguments['name']} {arguments.get('mood', 'kindly')}")}]


def names(typed: str) -> list[str]:
    return [name for name in ("ada", "alan", "bob") if name.startswith(typed)]


def many(typed: str) -> list[str]:
    return [str(number) for number in range(250)]


TOOLSET = Toolset(
    "studio",
    tools=[
        Tool("draw", "Draws.", DrawArgs, draw, title="Draw", action="write", tier="write", extra={"icons": []}),
        Tool("broken", "Fails.", NoArgs, broken),
        Tool("gone", "Is gone.", NoArgs, gone, action="destructive"),
        Tool("outside", "Reaches out.", NoArgs, broken, action="external", input_schema={"type": "object", "x": 1}),
    ],
    resources=[
        Resource("x://text", "text", "Text.", read_text, "text/markdown", ["old://text"]),
        Resource("x://bytes", "bytes", "Bytes.", read_bytes, "application/octet-stream"),
    ],
    templates=[
        Template(
            "x://page/{number}{?part}",
            "page",
            "A page.",
            read_page,
            aliases=["old://{number}"],
            completions={"number": many},
        )
    ],
    prompts=[
        Prompt(
            "greet",
            "Greets.",
            greet,
            [PromptArgument("name", "Whom.", required=True), PromptArgument("mood", "How.")],
            {"name": names},
        )
    ],
)
HOUSE = a_house(providers={"studio": TOOLSET})


async def call_tool(name: str, arguments: bytes = b"{}") -> dict[str, Any]:
    return json.loads((await HOUSE.pipeline.run(a_call(name, arguments=arguments))).payload)


async def definition(kind: str, name: str) -> dict[str, Any]:
    found = [TOOLSET.find("tool", name), TOOLSET.find("prompt", name), TOOLSET.find("template", name)]
    [capability] = [item for item in found if item is not None and item.kind == kind]
    return json.loads(capability.definition)


async def refusal(**call: Any) -> LimenError:
    with pytest.raises(LimenError) as refused:
        await HOUSE.pipeline.run(a_call(**call))
    return refused.value


async def test_a_tool_is_defined_by_its_struct() -> None:
    assert await definition("tool", "draw") == {
        "name": "draw",
        "title": "Draw",
        "description": "Draws.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "shape": {"type": "string", "minLength": 1, "description": "What to draw."},
                "times": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1},
                "sizes": {
                    "type": "array",
                    "items": {
                        "title": "Size",
                        "description": "A struct inside another.",
                        "type": "object",
                        "properties": {"width": {"type": "integer"}, "height": {"type": "integer", "default": 1}},
                        "required": ["width"],
                        "additionalProperties": False,
                    },
                    "default": [],
                },
            },
            "required": ["shape"],
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
        "icons": [],
    }


@pytest.mark.parametrize(
    ("tool", "hints"),
    [("draw", set[str]()), ("broken", {"readOnlyHint"}), ("gone", {"destructiveHint"}), ("outside", {"openWorldHint"})],
)
async def test_hints_follow_from_the_action_class(tool: str, hints: set[str]) -> None:
    annotations = (await definition("tool", tool))["annotations"]
    assert {name for name, value in annotations.items() if value} == hints


async def test_a_schema_given_by_hand_is_kept() -> None:
    assert (await definition("tool", "outside"))["inputSchema"] == {"type": "object", "x": 1}


async def test_lists_keep_the_order_they_were_written_in_and_leave_aliases_out() -> None:
    assert [item.name for item in await TOOLSET.list("tool")] == ["draw", "broken", "gone", "outside"]
    assert [item.name for item in await TOOLSET.list("resource")] == ["x://text", "x://bytes"]
    assert [item.name for item in await TOOLSET.list("template")] == ["x://page/{number}{?part}"]
    assert [item.name for item in await TOOLSET.list("prompt")] == ["greet"]
    assert {item.source for item in await TOOLSET.list("tool")} == {TOOLSET.source}


async def test_a_tool_answers_with_text_and_data() -> None:
    assert await call_tool("draw", b'{"shape":"o","times":3}') == {
        "content": [{"type": "text", "text": "ooo"}],
        "isError": False,
        "structuredContent": {"drawn": 3},
    }


@requirement("hub.arguments")
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (b"{}", "shape"),
        (b'{"shape":1}', "shape"),
        (b'{"shape":""}', "shape"),
        (b'{"shape":null}', "shape"),
        (b'{"shape":"o","times":0}', "times"),
        (b'{"shape":"o","times":"3"}', "times"),
        (b'{"shape":"o","times":1e400}', "times"),
        (b'{"shape":"o","tmes":3}', "tmes"),
        (b'{"shape":"o","sizes":[{"width":1},{}]}', "width"),
        (b'{"shape":"odd"}', "shape"),
    ],
)
async def test_a_wrong_argument_is_an_error_of_the_tool_that_names_the_field(arguments: bytes, named: str) -> None:
    result = await HOUSE.pipeline.run(a_call("draw", arguments=arguments))
    answer = json.loads(result.payload)
    assert (result.is_error, result.code, answer["isError"]) == (True, "invalid_arguments", True)
    assert named in answer["content"][0]["text"]


@requirement("road.tool-failure")
@pytest.mark.parametrize(("shape", "said"), [("impossible", "nobody can draw that"), ("half", "half of it")])
async def test_a_tool_that_failed_says_so_in_a_result_marked_as_an_error(shape: str, said: str) -> None:
    result = await HOUSE.pipeline.run(a_call("draw", arguments=b'{"shape":"%b"}' % shape.encode()))
    answer = json.loads(result.payload)
    assert (result.is_error, result.code, answer["isError"]) == (True, "tool_failed", True)
    assert answer["content"] == [text(said)]


async def test_other_failures_and_bugs_are_raised_not_dressed_up() -> None:
    assert (await refusal(name="gone")).code == "not_found"
    with pytest.raises(RuntimeError):
        await HOUSE.pipeline.run(a_call("broken"))


async def read(uri: str) -> dict[str, Any]:
    call = a_call(uri, kind="resource", method="resources/read")
    [contents] = json.loads((await HOUSE.pipeline.run(call)).payload)["contents"]
    return contents


@pytest.mark.parametrize("uri", ["x://text", "old://text"])
async def test_a_resource_answers_under_every_name_it_has_and_says_which(uri: str) -> None:
    assert await read(uri) == {"uri": uri, "mimeType": "text/markdown", "text": "héllo"}


async def test_bytes_travel_as_base64() -> None:
    assert await read("x://bytes") == {"uri": "x://bytes", "mimeType": "application/octet-stream", "blob": "AP8="}


@pytest.mark.parametrize(
    ("uri", "values"),
    [
        ("x://page/7", {"number": "7"}),
        ("x://page/7?part=a%20b", {"number": "7", "part": "a b"}),
        ("old://9", {"number": "9"}),
    ],
)
async def test_a_template_answers_for_every_uri_it_expands_to(uri: str, values: dict[str, str]) -> None:
    assert json.loads((await read(uri))["text"]) == values


@requirement("road.unknown")
@pytest.mark.parametrize("uri", ["x://page/", "x://page/7?other=1", "x://nothing", "", "x://page/{number}{?part}"])
async def test_a_uri_nothing_answers_to_is_not_found(uri: str) -> None:
    assert (await refusal(name=uri, kind="resource", method="resources/read")).code == "resource_not_found"


async def get_prompt(arguments: bytes) -> dict[str, Any]:
    call = a_call("greet", kind="prompt", method="prompts/get", arguments=arguments)
    return json.loads((await HOUSE.pipeline.run(call)).payload)


async def test_a_prompt_is_rendered_from_its_arguments() -> None:
    assert await definition("prompt", "greet") == {
        "name": "greet",
        "description": "Greets.",
        "arguments": [
            {"name": "name", "description": "Whom.", "required": True},
            {"name": "mood", "description": "How.", "required": False},
        ],
    }
    assert await get_prompt(b'{"name":"ada","mood":"warmly"}') == {
        "description": "Greets.",
        "messages": [{"role": "user", "content": text("greet ada warmly")}],
    }


@requirement("hub.arguments")
@pytest.mark.parametrize(
    ("arguments", "field"),
    [(b"{}", "name"), (b'{"name":"a","nam":"b"}', "nam"), (b'{"name":1}', "arguments"), (b'{"mood":"x"}', "name")],
)
async def test_a_prompt_with_wrong_arguments_is_refused_with_the_field_named(arguments: bytes, field: str) -> None:
    error = await refusal(name="greet", kind="prompt", method="prompts/get", arguments=arguments)
    assert (error.code, error.facts["field"]) == ("invalid_arguments", field)


async def complete(kind: Any, name: str, argument: bytes) -> dict[str, Any]:
    call = a_call(name, kind=kind, method="completion/complete", arguments=argument)
    return json.loads((await HOUSE.pipeline.run(call)).payload)["completion"]


@requirement("session.completion")
async def test_arguments_of_prompts_and_templates_are_completed() -> None:
    assert await complete("prompt", "greet", b'{"name":"name","value":"a"}') == {
        "values": ["ada", "alan"],
        "total": 2,
        "hasMore": False,
    }
    for pattern in ("x://page/{number}{?part}", "old://{number}"):
        found = await complete("template", pattern, b'{"name":"number","value":""}')
        assert (len(found["values"]), found["total"], found["hasMore"]) == (100, 250, True)


@requirement("session.completion")
async def test_an_argument_nobody_can_complete_has_no_suggestions() -> None:
    assert (await complete("prompt", "greet", b'{"name":"mood","value":""}'))["values"] == []
    assert (await complete("prompt", "greet", b'{"name":"no such"}'))["values"] == []


@requirement("session.completion")
@pytest.mark.parametrize("argument", [b"{}", b'{"name":1}', b'{"value":"a"}', b'{"name":"name","value":7}'])
async def test_a_completion_without_its_argument_is_refused(argument: bytes) -> None:
    error = await refusal(name="greet", kind="prompt", method="completion/complete", arguments=argument)
    assert (error.code, error.facts["field"]) == ("invalid_arguments", "argument")


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
async def test_subscribing_to_a_resource_reads_nothing(method: str) -> None:
    result = await HOUSE.pipeline.run(a_call("x://text", kind="resource", method=method))
    assert result.payload == b"{}"


@pytest.mark.parametrize("name", ["", "Draw", "draw ", "nothing", "x://text", "greet"])
async def test_names_are_matched_exactly_and_by_kind(name: str) -> None:
    assert TOOLSET.find("tool", name) is None
