"""A path leads to one route, segment for segment, or to none."""

import pytest

from limen.errors import NotFound
from limen.web.routes import Answer, Ask, MethodNotAllowed, Promise, Route, Router


async def nothing(ask: Ask) -> Answer:
    return Answer(204)


def a_route(method: str, path: str) -> Route:
    return Route(method=method, path=path, name="x", summary="x", handle=nothing, promises=(Promise(204, "x"),))


ROUTER = Router(
    [a_route("GET", "/v1/things"), a_route("PUT", "/v1/things/{thing}"), a_route("GET", "/v1/things/{thing}/x")]
)


@pytest.mark.parametrize(
    ("method", "path", "expected", "names"),
    [
        ("GET", b"/v1/things", "/v1/things", ()),
        ("PUT", b"/v1/things/a", "/v1/things/{thing}", ("a",)),
        ("PUT", b"/v1/things/..%2fx", "/v1/things/{thing}", ("../x",)),
        ("PUT", b"/v1/things/%C3%A9", "/v1/things/{thing}", ("é",)),
        ("GET", b"/v1/things/a/x", "/v1/things/{thing}/x", ("a",)),
    ],
)
def test_a_path_leads_to_its_route(method: str, path: bytes, expected: str, names: tuple[str, ...]) -> None:
    match = ROUTER.find(method, path)
    assert (match.route.path, match.names) == (expected, names)


@pytest.mark.parametrize("path", [b"/", b"/v1", b"/v1/", b"/v1/Things", b"/v1//things", b"/v1/things/a/y", b"/v1/%ff"])
def test_a_path_of_no_route_is_not_found(path: bytes) -> None:
    with pytest.raises(NotFound):
        ROUTER.find("GET", path)


def test_a_method_of_no_route_names_those_there_are() -> None:
    with pytest.raises(MethodNotAllowed) as refused:
        ROUTER.find("POST", b"/v1/things/a")
    assert refused.value.allowed == ["PUT"]
