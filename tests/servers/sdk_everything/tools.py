"""The tools: each by its name, with its schema and what it does; names and payloads are those the suites expect."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp import MCPError, types

from tests.servers.everything.samples import audio, embedded, image
from tests.servers.sdk_everything.asking import MISSING_CAPABILITY, ROOTS, Turn, field_of, form, page, sample

NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}

Run = Callable[[Turn], Awaitable[types.CallToolResult]]


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool as it is listed, and what answers it."""

    tool: types.Tool
    run: Run


def offer(name: str, description: str, run: Run, schema: Mapping[str, Any] = NO_ARGUMENTS, **more: Any) -> Offer:
    """A tool of this name."""
    return Offer(types.Tool(name=name, description=description, input_schema=dict(schema), **more), run)


def texts(**fields: str) -> dict[str, Any]:
    """A schema of required texts."""
    properties = {name: {"type": "string", "description": meaning} for name, meaning in fields.items()}
    return {"type": "object", "properties": properties, "required": list(fields)}


def told(*content: str | Mapping[str, Any], **more: Any) -> types.CallToolResult:
    """A result out of texts and other blocks."""
    blocks = [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]
    return types.CallToolResult.model_validate({"content": blocks, **more})


def _fixed(*content: str | Mapping[str, Any], **more: Any) -> Run:
    async def run(_: Turn) -> types.CallToolResult:
        return told(*content, **more)

    return run


async def _add(turn: Turn) -> types.CallToolResult:
    total = float(turn.arguments["a"]) + float(turn.arguments["b"])
    return told(f"{total:g}", structuredContent={"sum": total})


async def _rich(turn: Turn) -> types.CallToolResult:
    return told(f"noted {turn.arguments.get('name', 'somebody')}")


async def _routed(turn: Turn) -> types.CallToolResult:
    return told(f"routed by {turn.arguments['region']!r}")


def _filled(answer: Mapping[str, Any]) -> types.CallToolResult:
    content = json.dumps(answer.get("content") or {}, sort_keys=True)
    return told(f"action={answer['action']}, content={content}")


async def _elicit(turn: Turn) -> types.CallToolResult:
    person = {"username": {"type": "string"}, "email": {"type": "string"}}
    answers = await turn.ask({"person": form(turn.arguments["message"], person, "username", "email")})
    return _filled(answers["person"])


async def _sample(turn: Turn) -> types.CallToolResult:
    answers = await turn.ask({"reply": sample(turn.arguments["prompt"])})
    return told(f"the model said: {answers['reply']['content'].get('text', '')}")


def _asking(question: types.ElicitRequest) -> Run:
    async def run(turn: Turn) -> types.CallToolResult:
        return _filled((await turn.ask({"answer": question}))["answer"])

    return run


async def _greet(turn: Turn) -> types.CallToolResult:
    return told(f"Hello, {field_of((await turn.ask({'user_name': NAME}))['user_name'], 'name')}!")


async def _capital(turn: Turn) -> types.CallToolResult:
    if not turn.supports("sampling"):
        raise MCPError(MISSING_CAPABILITY, "this needs a model", {"requiredCapabilities": {"sampling": {}}})
    answers = await turn.ask({"capital_question": sample("What is the capital of France?")})
    return told(str(answers["capital_question"]["content"].get("text", "")))


async def _roots(turn: Turn) -> types.CallToolResult:
    answers = await turn.ask({"client_roots": ROOTS})
    return told("roots: " + ", ".join(root["uri"] for root in answers["client_roots"]["roots"]))


async def _state(turn: Turn) -> types.CallToolResult:
    await turn.ask({"confirm": CONFIRM})
    return told("state-ok")


async def _several(turn: Turn) -> types.CallToolResult:
    answers = await turn.ask({"user_name": NAME, "greeting": sample("Write one greeting."), "client_roots": ROOTS})
    greeting = answers["greeting"]["content"].get("text", "")
    return told(f"{greeting} {field_of(answers['user_name'], 'name')}, {len(answers['client_roots']['roots'])} roots")


async def _rounds(turn: Turn) -> types.CallToolResult:
    first = await turn.ask({"step1": NAME})
    second = await turn.ask({"step2": form("Which colour?", {"color": {"type": "string"}}, "color")})
    return told(f"{field_of(first['step1'], 'name')} likes {field_of(second['step2'], 'color')}")


async def _whoever_can(turn: Turn) -> types.CallToolResult:
    able = {"name": ("elicitation", NAME), "line": ("sampling", sample("Write one line.")), "places": ("roots", ROOTS)}
    answers = await turn.ask({key: question for key, (feature, question) in able.items() if turn.supports(feature)})
    return told("answered: " + ", ".join(sorted(answers)))


NAME = form("Who are you?", {"name": {"type": "string"}}, "name")
CONFIRM = form("Shall we go on?", {"ok": {"type": "boolean"}}, "ok")
DEFAULTS = form(
    "Everything here has a default.",
    {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
)
CHOICES = form(
    "Every way to offer a choice.",
    {
        "untitledSingle": {"type": "string", "enum": ["one", "two"]},
        "titledSingle": {"type": "string", "oneOf": [{"const": "a", "title": "An A"}, {"const": "b", "title": "A B"}]},
        "legacyEnum": {"type": "string", "enum": ["x", "y"], "enumNames": ["An X", "A Y"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["one", "two"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "An A"}]}},
    },
)
PAGE = page("Sign in there, then come back.", "https://sign-in.example/start", "page-1")
RICH_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"city": {"type": "string"}}}},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "way": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"way": {"const": "phone"}}, "required": ["way"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
NUMBERS = {"type": "object", "properties": {key: {"type": "number"} for key in "ab"}, "required": ["a", "b"]}
SUM = {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]}
ROUTED = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}

TOOLS = (
    offer("test_simple_text", "Answers with a line of text.", _fixed("plain text, as asked")),
    offer("test_image_content", "Answers with a picture.", _fixed(image())),
    offer("test_audio_content", "Answers with a sound.", _fixed(audio())),
    offer(
        "test_embedded_resource",
        "Answers with a resource inside the result.",
        _fixed(embedded("test://embedded-resource", "carried inside a result")),
    ),
    offer(
        "test_multiple_content_types",
        "Answers with text, a picture and a resource.",
        _fixed(
            "one of each:", image(), embedded("test://mixed-content-resource", '{"mixed":true}', "application/json")
        ),
    ),
    offer("test_error_handling", "Always fails.", _fixed("this tool fails, as it should", isError=True)),
    offer("add_numbers", "Adds two numbers and gives the sum as data too.", _add, NUMBERS, output_schema=SUM),
    offer("json_schema_2020_12_tool", "Its schema uses the newer words of JSON Schema.", _rich, RICH_SCHEMA),
    offer("test_x_mcp_header", "Its argument is repeated in a header.", _routed, ROUTED),
    offer("test_elicitation", "Asks a person for a name and an address.", _elicit, texts(message="What to ask.")),
    offer("test_sampling", "Asks the client's model.", _sample, texts(prompt="What to ask.")),
    offer("test_elicitation_sep1034_defaults", "Asks with a default for every field.", _asking(DEFAULTS)),
    offer("test_elicitation_sep1330_enums", "Asks with every kind of choice.", _asking(CHOICES)),
    offer("test_streaming_elicitation", "Asks a person in the middle of its work.", _asking(CONFIRM)),
    offer("test_url_elicitation", "Sends a person to a page.", _asking(PAGE)),
    offer("test_missing_capability", "Cannot do without the client's model.", _capital),
    offer("test_input_required_result_elicitation", "Greets by name.", _greet),
    offer("test_input_required_result_sampling", "Leaves a question to the model.", _capital),
    offer("test_input_required_result_list_roots", "Names the client's roots.", _roots),
    offer("test_input_required_result_request_state", "Goes on once confirmed.", _state),
    offer("test_input_required_result_tampered_state", "Goes on once confirmed, if nobody meddled.", _state),
    offer("test_input_required_result_multiple_inputs", "Asks three things at once.", _several),
    offer("test_input_required_result_multi_round", "Asks one thing after another.", _rounds),
    offer("test_input_required_result_capabilities", "Asks what the client can answer.", _whoever_can),
)
