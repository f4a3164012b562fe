"""The description has every route and every shape, and every reference in it leads somewhere."""

import json
from collections.abc import Iterator
from typing import Any

from limen.shapes import is_array, is_object
from limen.web.brains import BRAIN_ROUTES
from limen.web.documents import DOCUMENT_ROUTES
from limen.web.events import EventStreams
from limen.web.openapi import describe
from limen.web.problems import PROBLEM_MEDIA

ROUTES = (*BRAIN_ROUTES, *DOCUMENT_ROUTES, *EventStreams().routes)
DOCUMENT: dict[str, Any] = json.loads(json.dumps(describe(ROUTES)))


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def references(node: Any) -> Iterator[str]:
    if is_object(node):
        for key, value in node.items():
            if key == "$ref":
                yield value
            else:
                yield from references(value)
    elif is_array(node):
        for item in node:
            yield from references(item)


def test_every_route_is_described_once_under_a_name_of_its_own() -> None:
    assert {(path, method.upper()) for path, method, _ in operations()} == {(r.path, r.method) for r in ROUTES}
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(names) == len(set(names))


def test_every_reference_leads_to_a_shape_and_every_shape_is_used() -> None:
    used = set(references(DOCUMENT))
    there = {f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]}
    assert used == there


def test_every_failure_is_a_problem() -> None:
    for _, _, operation in operations():
        failures = {status: answer for status, answer in operation["responses"].items() if status >= "400"}
        assert {"400", "401", "403", "500"} <= failures.keys()
        assert all(list(answer["content"]) == [PROBLEM_MEDIA] for answer in failures.values())


def test_every_change_says_what_it_honours() -> None:
    put = DOCUMENT["paths"]["/v1/brains/{brain}/documents"]["put"]
    assert {parameter["name"] for parameter in put["parameters"]} == {
        "brain",
        "path",
        "If-Match",
        "If-None-Match",
        "Idempotency-Key",
    }
    assert {"409", "412", "413", "415"} <= put["responses"].keys()


def test_shapes_refuse_what_they_do_not_name() -> None:
    bodies = {
        operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        for _, _, operation in operations()
        if "application/json" in operation.get("requestBody", {}).get("content", {})
    }
    for name in bodies:
        assert DOCUMENT["components"]["schemas"][name]["additionalProperties"] is False
