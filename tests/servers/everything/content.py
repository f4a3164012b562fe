"""Tools that answer at once: every kind of content, a failure, structured data, unusual schemas."""

from typing import Annotated, Any

import msgspec

from limen.calls.call import Call
from limen.errors import ToolFailed
from limen.toolsets.provider import Reply, Tool, text
from tests.servers.everything.samples import audio, embedded, image


class Nothing(msgspec.Struct, frozen=True):
    """No arguments; any that come are ignored."""


class Numbers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two numbers."""

    a: Annotated[float, msgspec.Meta(description="The first one.")]
    b: Annotated[float, msgspec.Meta(description="The second one.")]


class Routed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An argument that also travels as a header."""

    region: str = ""


class Contact(msgspec.Struct, frozen=True):
    """What the tool with the rich schema takes; the schema itself is written below."""

    name: str = ""


RICH_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

ROUTED_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}


async def _text(_: Nothing, __: Call) -> Reply:
    return Reply([text("plain text, as asked")])


async def _image(_: Nothing, __: Call) -> Reply:
    return Reply([image()])


async def _audio(_: Nothing, __: Call) -> Reply:
    return Reply([audio()])


async def _embedded(_: Nothing, __: Call) -> Reply:
    return Reply([embedded("test://embedded-resource", "carried inside a result")])


async def _mixed(_: Nothing, __: Call) -> Reply:
    return Reply(
        [
            text("one of each:"),
            image(),
            embedded("test://mixed-content-resource", '{"mixed":true}', "application/json"),
        ]
    )


async def _failing(_: Nothing, __: Call) -> Reply:
    raise ToolFailed("this tool fails, because that is what it is for")


async def _add(args: Numbers, _: Call) -> Reply:
    total = args.a + args.b
    return Reply([text(f"{total:g}")], {"sum": total})


async def _rich(args: Contact, _: Call) -> Reply:
    return Reply([text(f"noted {args.name or 'somebody'}")])


async def _routed(args: Routed, _: Call) -> Reply:
    return Reply([text(f"routed by {args.region!r}")])


TOOLS = (
    Tool("test_simple_text", "Answers with a line of text.", Nothing, _text),
    Tool("test_image_content", "Answers with a picture.", Nothing, _image),
    Tool("test_audio_content", "Answers with a sound.", Nothing, _audio),
    Tool("test_embedded_resource", "Answers with a resource inside the result.", Nothing, _embedded),
    Tool("test_multiple_content_types", "Answers with text, a picture and a resource.", Nothing, _mixed),
    Tool("test_error_handling", "Always fails.", Nothing, _failing),
    Tool(
        "add_numbers",
        "Adds two numbers and gives the sum as data too.",
        Numbers,
        _add,
        extra={
            "outputSchema": {
                "type": "object",
                "properties": {"sum": {"type": "number"}},
                "required": ["sum"],
            }
        },
    ),
    Tool(
        "json_schema_2020_12_tool",
        "Its schema uses the newer words of JSON Schema.",
        Contact,
        _rich,
        input_schema=RICH_SCHEMA,
    ),
    Tool(
        "test_x_mcp_header",
        "Its argument is repeated in a header.",
        Routed,
        _routed,
        input_schema=ROUTED_SCHEMA,
    ),
)
