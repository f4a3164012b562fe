"""Makes a provider out of plain functions: derives schemas, parses arguments, renders results, for every toolset."""

from base64 import b64encode
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, get_args

import msgspec

from limen.calls.call import ActionClass, Call, Capability, Kind, Result, Tier
from limen.errors import InvalidArguments, NotFound, ToolFailed
from limen.protocol import uritemplates
from limen.shapes import is_array, is_object

__all__ = [
    "Contents",
    "Prompt",
    "PromptArgument",
    "Reply",
    "Resource",
    "Template",
    "Tool",
    "Toolset",
    "text",
]

COMPLETIONS_MAX = 100
SUBSCRIPTIONS = frozenset({"resources/subscribe", "resources/unsubscribe", "subscriptions/listen"})
"""Ways to ask for news of a resource; a toolset publishes it, and has nothing to do for each listener."""

Completions = Mapping[str, Callable[[str], Sequence[str]]]


def text(value: str) -> dict[str, Any]:
    """One text block of content."""
    return {"type": "text", "text": value}


class Reply(msgspec.Struct, frozen=True):
    """What a tool answers: content for the model, optionally the same as data."""

    content: Sequence[Mapping[str, Any]]
    structured: object = None
    is_error: bool = False
    code: str = "tool_failed"
    """The public code of the failure, when it is one."""


class Tool(msgspec.Struct, frozen=True):
    """One tool: its arguments are a msgspec struct, its work is one async function."""

    name: str
    description: str
    args: type[msgspec.Struct]
    run: Callable[[Any, Call], Awaitable[Reply]]
    title: str = ""
    action: ActionClass = "read"
    tier: Tier = "read"
    input_schema: Mapping[str, Any] | None = None
    """Only where a struct cannot say it; derived from `args` otherwise."""
    extra: Mapping[str, Any] = {}
    """Further fields of the definition (`outputSchema`, `icons`, …)."""


class Contents(msgspec.Struct, frozen=True):
    """What a resource holds."""

    data: str | bytes
    mime: str = "text/plain"


class Resource(msgspec.Struct, frozen=True):
    """One readable thing under a fixed URI, and the other URIs it also answers to."""

    uri: str
    name: str
    description: str
    read: Callable[[Call], Awaitable[Contents]]
    mime: str = "text/plain"
    aliases: Sequence[str] = ()


class Template(msgspec.Struct, frozen=True):
    """Readable things under a pattern of URIs."""

    pattern: str
    name: str
    description: str
    read: Callable[[Call, Mapping[str, str]], Awaitable[Contents]]
    mime: str = "text/plain"
    aliases: Sequence[str] = ()
    completions: Completions = {}


class PromptArgument(msgspec.Struct, frozen=True):
    """One argument of a prompt; prompts take strings only."""

    name: str
    description: str
    required: bool = False


class Prompt(msgspec.Struct, frozen=True):
    """One prompt: renders messages from string arguments."""

    name: str
    description: str
    render: Callable[[Call, Mapping[str, str]], Awaitable[Sequence[Mapping[str, Any]]]]
    arguments: Sequence[PromptArgument] = ()
    completions: Completions = {}


class _CompletionArgument(msgspec.Struct, frozen=True):
    name: str
    value: str = ""


_decode_completion = msgspec.json.Decoder(_CompletionArgument).decode
_decode_strings = msgspec.json.Decoder(dict[str, str]).decode

Serve = Callable[[Call], Coroutine[Any, Any, Result]]


class Toolset:
    """The capabilities of one built-in family, as the road sees them."""

    def __init__(
        self,
        source: str,
        *,
        tools: Sequence[Tool] = (),
        resources: Sequence[Resource] = (),
        templates: Sequence[Template] = (),
        prompts: Sequence[Prompt] = (),
    ) -> None:
        self._source = source
        self._listed: dict[Kind, list[Capability]] = {kind: [] for kind in get_args(Kind)}
        self._found: dict[tuple[Kind, str], tuple[Capability, Serve]] = {}
        self._patterns: list[tuple[str, Capability, Template]] = []
        for tool in tools:
            self._add_tool(tool)
        for resource in resources:
            self._add_resource(resource)
        for template in templates:
            self._add_template(template)
        for prompt in prompts:
            self._add_prompt(prompt)

    @property
    def source(self) -> str:
        """The toolset's name."""
        return self._source

    async def list(self, kind: Kind) -> Sequence[Capability]:
        """All of a kind, in the order they were written down."""
        return self._listed[kind]

    def find(self, kind: Kind, name: str) -> Capability | None:
        """By exact name; a resource also by a template that matches its URI."""
        known = self._found.get((kind, name))
        if known is not None:
            return known[0]
        if kind == "resource":
            for pattern, capability, _ in self._patterns:
                if uritemplates.match(pattern, name) is not None:
                    return capability
        return None

    def run(self, call: Call, capability: Capability) -> Coroutine[Any, Any, Result]:
        """Do it."""
        known = self._found.get((call.kind, call.name))
        if known is None or call.method in SUBSCRIPTIONS:
            return self._run_pattern(call)
        return known[1](call)

    async def _run_pattern(self, call: Call) -> Result:
        if call.method in SUBSCRIPTIONS:
            return Result(b"{}")
        for pattern, _, template in self._patterns:
            values = uritemplates.match(pattern, call.name)
            if values is not None:
                return _contents(call.name, await template.read(call, values))
        raise NotFound(f"{call.kind} {call.name!r} is gone", name=call.name)

    def _add(self, kind: Kind, name: str, definition: Mapping[str, Any], serve: Serve, **known: Any) -> Capability:
        listed = Capability(kind, name, msgspec.json.encode(definition), self._source, **known)
        self._found[kind, name] = (listed, serve)
        if listed.listed:
            self._listed[kind].append(listed)
        return listed

    def _add_tool(self, tool: Tool) -> None:
        definition = {
            "name": tool.name,
            **({"title": tool.title} if tool.title else {}),
            "description": tool.description,
            "inputSchema": tool.input_schema or _schema(tool.args),
            "annotations": _annotations(tool),
            **tool.extra,
        }
        decoder = msgspec.json.Decoder(tool.args)

        async def serve(call: Call) -> Result:
            try:
                args = decoder.decode(call.arguments)
            except msgspec.DecodeError as error:
                return _failed(InvalidArguments(f"{tool.name}: {error}"))
            try:
                return _rendered(await tool.run(args, call))
            except (InvalidArguments, ToolFailed) as error:
                return _failed(error)

        self._add("tool", tool.name, definition, serve, action=tool.action, tier=tool.tier)

    def _add_resource(self, resource: Resource) -> None:
        async def serve(call: Call) -> Result:
            return _contents(call.name, await resource.read(call))

        for uri in (resource.uri, *resource.aliases):
            definition = {
                "uri": uri,
                "name": resource.name,
                "description": resource.description,
                "mimeType": resource.mime,
            }
            self._add("resource", uri, definition, serve, listed=uri == resource.uri)

    def _add_template(self, template: Template) -> None:
        async def complete(call: Call) -> Result:
            return _completed(template.completions, call)

        for pattern in (template.pattern, *template.aliases):
            definition = {
                "uriTemplate": pattern,
                "name": template.name,
                "description": template.description,
                "mimeType": template.mime,
            }
            listed = pattern == template.pattern
            capability = self._add("template", pattern, definition, complete, listed=listed)
            self._patterns.append((pattern, capability, template))

    def _add_prompt(self, prompt: Prompt) -> None:
        definition = {
            "name": prompt.name,
            "description": prompt.description,
            "arguments": [
                {"name": argument.name, "description": argument.description, "required": argument.required}
                for argument in prompt.arguments
            ],
        }

        async def serve(call: Call) -> Result:
            if call.method == "completion/complete":
                return _completed(prompt.completions, call)
            messages = await prompt.render(call, _prompt_arguments(prompt, call.arguments))
            return Result(msgspec.json.encode({"description": prompt.description, "messages": messages}))

        self._add("prompt", prompt.name, definition, serve)


def _schema(args: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments, in one piece: no `$ref`, which some clients cannot follow."""
    (schema,), parts = msgspec.json.schema_components((args,), ref_template="{name}")
    root: dict[str, Any] = _inlined(schema, parts)
    root.pop("title", None)
    root.pop("description", None)
    return root


def _inlined(node: Any, parts: Mapping[str, Any]) -> Any:
    if is_object(node):
        named = parts.get(node.get("$ref", ""))
        return {key: _inlined(item, parts) for key, item in node.items()} if named is None else _inlined(named, parts)
    return [_inlined(item, parts) for item in node] if is_array(node) else node


def _annotations(tool: Tool) -> dict[str, bool]:
    return {
        "readOnlyHint": tool.action == "read",
        "destructiveHint": tool.action == "destructive",
        "openWorldHint": tool.action == "external",
    }


def _rendered(reply: Reply) -> Result:
    payload: dict[str, Any] = {"content": reply.content, "isError": reply.is_error}
    if reply.structured is not None:
        payload["structuredContent"] = reply.structured
    return Result(msgspec.json.encode(payload), reply.is_error, reply.code if reply.is_error else "")


def _failed(error: InvalidArguments | ToolFailed) -> Result:
    payload = {"content": [text(str(error))], "isError": True}
    return Result(msgspec.json.encode(payload), is_error=True, code=error.code)


def _contents(uri: str, contents: Contents) -> Result:
    body = {"text": contents.data} if isinstance(contents.data, str) else {"blob": b64encode(contents.data).decode()}
    return Result(msgspec.json.encode({"contents": [{"uri": uri, "mimeType": contents.mime, **body}]}))


def _prompt_arguments(prompt: Prompt, raw: bytes) -> Mapping[str, str]:
    try:
        given = _decode_strings(raw)
    except msgspec.DecodeError as error:
        raise InvalidArguments(f"arguments: {error}", field="arguments") from None
    known = {argument.name for argument in prompt.arguments}
    for name in given:
        if name not in known:
            raise InvalidArguments(f"arguments.{name}: {prompt.name} has no such argument", field=name)
    for argument in prompt.arguments:
        if argument.required and argument.name not in given:
            raise InvalidArguments(f"arguments.{argument.name}: required by {prompt.name}", field=argument.name)
    return given


def _completed(completions: Completions, call: Call) -> Result:
    try:
        argument = _decode_completion(call.arguments)
    except msgspec.DecodeError as error:
        raise InvalidArguments(f"argument: {error}", field="argument") from None
    complete = completions.get(argument.name)
    values = list(complete(argument.value)) if complete else []
    shown = values[:COMPLETIONS_MAX]
    return Result(
        msgspec.json.encode(
            {"completion": {"values": shown, "total": len(values), "hasMore": len(values) > len(shown)}}
        )
    )
