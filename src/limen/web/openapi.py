"""Describes every route as an OpenAPI 3.1 document, made of the very structs that read the requests."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from limen import __version__
from limen.web.problems import PROBLEM_MEDIA, WIRE_CODES, Problem
from limen.web.routes import JSON, Body, Promise, Route

__all__ = ["describe"]

Schema = dict[str, Any]

REF: Final = "#/components/schemas/{name}"
ALWAYS: Final = (400, 401, 403, 500, 503)
OF_BRAIN: Final = (404,)
OF_BODY: Final = (413, 415, 507)

HEADERS: Final[Mapping[str, Schema]] = {
    "ETag": {"description": "The SHA-256 of the content, in quotes.", "schema": {"type": "string"}},
    "X-Commit-Sha": {"description": "The commit that holds the change.", "schema": {"type": "string"}},
}

BRAIN_PARAMETER: Final[Schema] = {
    "name": "brain",
    "in": "path",
    "required": True,
    "description": "Id or slug of the brain.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[A-Za-z0-9_-]+$"},
}


def _header(name: str, description: str, pattern: str) -> Schema:
    schema = {"type": "string", "pattern": pattern}
    return {"name": name, "in": "header", "required": False, "description": description, "schema": schema}


CONDITIONS: Final = (
    _header(
        "If-Match",
        "Entity tags one of which the document must have now, or * for any. Otherwise 412 and nothing changes.",
        r'^(\*|(W/)?"[!#-~]*"(, ?(W/)?"[!#-~]*")*)$',
    ),
    _header("If-None-Match", "Only *: the document must not exist. Otherwise 412 and nothing changes.", r"^\*$"),
)
KEY: Final = _header(
    "Idempotency-Key",
    "The same key with the same request is answered like the first time and changes nothing; with another it is 409.",
    "^[!-~]{1,255}$",
)
RESUME: Final = _header("Last-Event-ID", "The last event that was heard.", "^[0-9]{1,15}-[0-9]{1,9}$")


def describe(routes: Sequence[Route]) -> Schema:
    """The whole document."""
    structs = sorted(set(_structs(routes)), key=lambda struct: struct.__name__)
    shapes, components = msgspec.json.schema_components(structs, ref_template=REF)
    by_struct = dict(zip(structs, shapes, strict=True))
    paths: dict[str, dict[str, Schema]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, by_struct, components)
    for route in routes:
        # Written out as parameters above.
        components.pop(route.query.__name__, None)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Limen",
            "version": __version__,
            "description": "Brains: their documents, what is remembered in them, and how it is found again.",
        },
        "paths": paths,
        "components": {"schemas": components},
    }


def _structs(routes: Sequence[Route]) -> Iterator[type[msgspec.Struct]]:
    yield Problem
    for route in routes:
        yield route.query
        if route.body is not None and route.body.shape is not None:
            yield route.body.shape
        for promise in route.promises:
            if isinstance(promise.schema, type):
                yield promise.schema


def _operation(route: Route, by_struct: Mapping[type, Schema], components: dict[str, Any]) -> Schema:
    operation: Schema = {"operationId": route.name, "summary": route.summary}
    parameters = list(_parameters(route, components))
    if parameters:
        operation["parameters"] = parameters
    if route.body is not None:
        operation["requestBody"] = _body(route.body, by_struct)
    operation["responses"] = {
        **{str(promise.status): _promise(promise, by_struct) for promise in route.promises},
        **{str(status): _problem(status, by_struct) for status in _problems(route)},
    }
    return operation


def _parameters(route: Route, components: Mapping[str, Any]) -> Iterator[Schema]:
    if "{brain}" in route.path:
        yield BRAIN_PARAMETER
    query = components[route.query.__name__]
    for name, schema in query["properties"].items():
        plain = {key: value for key, value in schema.items() if key not in {"description", "default"}}
        described = {"description": schema["description"]} if "description" in schema else {}
        yield {"name": name, "in": "query", "required": name in query.get("required", ()), **described, "schema": plain}
    if route.is_conditional:
        yield from CONDITIONS
    if route.is_keyed:
        yield KEY
    if route.resumes:
        yield RESUME


def _body(body: Body, by_struct: Mapping[type, Schema]) -> Schema:
    content: dict[str, Schema] = {media: _raw(media) for media in body.raw}
    if body.shape is not None:
        content = {JSON: {"schema": by_struct[body.shape]}, **content}
    return {"required": not body.default, "content": content}


def _raw(media: str) -> Schema:
    if media != "multipart/form-data":
        return {}
    file = {"type": "string", "contentMediaType": "application/octet-stream"}
    return {"schema": {"type": "object", "properties": {"file": file, "as": {"type": "string"}}, "required": ["file"]}}


def _promise(promise: Promise, by_struct: Mapping[type, Schema]) -> Schema:
    answer: Schema = {"description": promise.description}
    if promise.headers:
        answer["headers"] = {name: HEADERS[name] for name in promise.headers}
    if isinstance(promise.schema, type):
        answer["content"] = {promise.media: {"schema": by_struct[promise.schema]}}
    elif promise.schema is not None:
        answer["content"] = {promise.media: {"schema": promise.schema} if promise.schema else {}}
    return answer


def _problem(status: int, by_struct: Mapping[type, Schema]) -> Schema:
    content = {PROBLEM_MEDIA: {"schema": by_struct[Problem]}}
    return {"description": f"The problem `{WIRE_CODES[status]}`.", "content": content}


def _problems(route: Route) -> Sequence[int]:
    found = {*ALWAYS, *route.problems}
    if "{brain}" in route.path:
        found.update(OF_BRAIN)
    if route.body is not None:
        found.update(OF_BODY)
    return sorted(found)
