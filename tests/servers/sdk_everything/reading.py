"""Resources, a template, prompts and completions of the fixture server on the official SDK."""

import json
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp import MCPError, types
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from tests.servers.everything.samples import PNG, embedded, image
from tests.servers.sdk_everything.asking import Context, Turn, field_of, form
from tests.servers.sdk_everything.notices import WATCHED

WORDS = {"arg1": ("paris", "park", "party", "tested", "tester"), "id": ("1", "12", "123")}
BY_ID = re.compile(r"test://template/([^/]+)/data")

RESOURCES = [
    types.Resource(uri="test://static-text", name="static-text", description="A text.", mime_type="text/plain"),
    types.Resource(uri="test://static-binary", name="static-binary", description="A picture.", mime_type="image/png"),
    types.Resource(uri=WATCHED, name="watched-resource", description="A text to watch.", mime_type="text/plain"),
]
TEMPLATES = [
    types.ResourceTemplate(
        uri_template="test://template/{id}/data", name="template", description="By id.", mime_type="application/json"
    )
]
TEXTS = {"test://static-text": "text that never changes", WATCHED: "text that somebody watches"}


async def read(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """The contents of a resource."""
    uri = params.uri
    by_id = BY_ID.fullmatch(uri)
    if uri in TEXTS:
        found: dict[str, str] = {"mimeType": "text/plain", "text": TEXTS[uri]}
    elif uri == "test://static-binary":
        found = {"mimeType": "image/png", "blob": b64encode(PNG).decode()}
    elif by_id:
        found = {"mimeType": "application/json", "text": json.dumps({"id": by_id[1], "from": "template"})}
    else:
        code = -32602 if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else -32002
        raise MCPError(code, f"there is no resource {uri}", {"uri": uri})
    return types.ReadResourceResult.model_validate({"contents": [{"uri": uri, **found}]})


Get = Callable[[Turn], Awaitable[list[Mapping[str, Any]]]]


async def _simple(_: Turn) -> list[Mapping[str, Any]]:
    return [{"type": "text", "text": "A prompt without arguments."}]


async def _with_arguments(turn: Turn) -> list[Mapping[str, Any]]:
    return [{"type": "text", "text": f"Compare {turn.arguments['arg1']} with {turn.arguments['arg2']}."}]


async def _with_resource(turn: Turn) -> list[Mapping[str, Any]]:
    return [embedded(str(turn.arguments["resourceUri"]), "carried inside a prompt")]


async def _with_image(_: Turn) -> list[Mapping[str, Any]]:
    return [image(), {"type": "text", "text": "Look at what is above."}]


async def _with_context(turn: Turn) -> list[Mapping[str, Any]]:
    asked = form("What is this about?", {"context": {"type": "string"}}, "context")
    answer = (await turn.ask({"user_context": asked}))["user_context"]
    return [{"type": "text", "text": f"Consider this: {field_of(answer, 'context')}"}]


def _prompt(name: str, description: str, *arguments: str) -> types.Prompt:
    taken = [types.PromptArgument(name=argument, required=True) for argument in arguments]
    return types.Prompt(name=name, description=description, arguments=taken)


PROMPTS: dict[str, tuple[types.Prompt, Get]] = {
    prompt.name: (prompt, get)
    for prompt, get in (
        (_prompt("test_simple_prompt", "A prompt without arguments."), _simple),
        (_prompt("test_prompt_with_arguments", "A prompt with two arguments.", "arg1", "arg2"), _with_arguments),
        (_prompt("test_prompt_with_embedded_resource", "Carries a resource.", "resourceUri"), _with_resource),
        (_prompt("test_prompt_with_image", "A prompt that carries a picture."), _with_image),
        (_prompt("test_input_required_result_prompt", "A prompt about what a person names."), _with_context),
    )
}
FLEETING = _prompt("test_fleeting_prompt", "Comes and goes.")


async def get(turn: Turn, name: str) -> types.GetPromptResult:
    """A prompt, rendered."""
    if name not in PROMPTS:
        raise MCPError(-32602, f"there is no prompt {name}")
    blocks = await PROMPTS[name][1](turn)
    return types.GetPromptResult.model_validate({"messages": [{"role": "user", "content": block} for block in blocks]})


async def complete(_: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    """The words an argument may go on with."""
    known = WORDS.get(params.argument.name, ())
    found = [word for word in known if word.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=found, total=len(found), has_more=False))
