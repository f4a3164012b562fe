"""Resources, a template and prompts: what can be read and rendered."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from limen.calls.call import Call
from limen.toolsets.provider import Contents, Prompt, PromptArgument, Resource, Template, text
from tests.servers.everything.samples import PNG, embedded, image

WATCHED = "test://watched-resource"
CITIES = ("paris", "park", "party", "tested", "tester")


async def _text(_: Call) -> Contents:
    return Contents("text that never changes")


async def _binary(_: Call) -> Contents:
    return Contents(PNG, "image/png")


async def _watched(_: Call) -> Contents:
    return Contents("text that somebody watches")


async def _by_id(_: Call, values: Mapping[str, str]) -> Contents:
    return Contents(msgspec.json.encode({"id": values["id"], "from": "template"}).decode(), "application/json")


async def _simple(_: Call, __: Mapping[str, str]) -> list[dict[str, Any]]:
    return [_says(text("A prompt without arguments."))]


async def _with_arguments(_: Call, values: Mapping[str, str]) -> list[dict[str, Any]]:
    return [_says(text(f"Compare {values['arg1']} with {values['arg2']}."))]


async def _with_resource(_: Call, values: Mapping[str, str]) -> list[dict[str, Any]]:
    return [_says(embedded(values["resourceUri"], "carried inside a prompt")), _says(text("Read what is above."))]


async def _with_image(_: Call, __: Mapping[str, str]) -> list[dict[str, Any]]:
    return [_says(image()), _says(text("Look at what is above."))]


def _says(content: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": content}


def _among(known: Sequence[str]) -> Callable[[str], Sequence[str]]:
    return lambda begun: [word for word in known if word.startswith(begun)]


RESOURCES = (
    Resource("test://static-text", "static-text", "A text.", _text),
    Resource("test://static-binary", "static-binary", "A picture.", _binary, "image/png"),
    Resource(WATCHED, "watched-resource", "A text one can subscribe to.", _watched),
)

TEMPLATES = (
    Template(
        "test://template/{id}/data",
        "template",
        "Data by id.",
        _by_id,
        "application/json",
        completions={"id": _among(["1", "12", "123"])},
    ),
)

PROMPTS = (
    Prompt("test_simple_prompt", "A prompt without arguments.", _simple),
    Prompt(
        "test_prompt_with_arguments",
        "A prompt with two arguments.",
        _with_arguments,
        (PromptArgument("arg1", "One thing.", required=True), PromptArgument("arg2", "Another.", required=True)),
        {"arg1": _among(CITIES)},
    ),
    Prompt(
        "test_prompt_with_embedded_resource",
        "A prompt that carries a resource.",
        _with_resource,
        (PromptArgument("resourceUri", "Which one.", required=True),),
    ),
    Prompt("test_prompt_with_image", "A prompt that carries a picture.", _with_image),
)
