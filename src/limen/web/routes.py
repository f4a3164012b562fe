"""What a route is, how its request looks once it is read, and how it answers; finds the route of a request."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote_to_bytes

import msgspec

from limen.errors import NotFound
from limen.server.responses import Visit
from limen.web.problems import PROBLEM_MEDIA, Problem
from limen.web.road import Road

__all__ = [
    "JSON",
    "OCTETS",
    "Answer",
    "Ask",
    "Body",
    "Header",
    "Match",
    "MethodNotAllowed",
    "Precondition",
    "Promise",
    "Route",
    "Router",
    "Upload",
    "json_answer",
    "problem_answer",
]

JSON: Final = "application/json"
OCTETS: Final = "application/octet-stream"
Header = tuple[bytes, bytes]
Schema = Mapping[str, Any]

_NO_STORE: Final[Header] = (b"cache-control", b"no-store")


class NoQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No query parameters."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A body that is taken as it came."""

    content: bytes
    media: str
    """Its type, without parameters; empty when none was given."""
    parameters: str = ""


@dataclass(frozen=True, slots=True)
class Precondition:
    """What the caller expects the document to be (RFC 9110, 13.1)."""

    if_match: tuple[str, ...] | None = None
    if_absent: bool = False

    @property
    def is_given(self) -> bool:
        """Whether it expects anything."""
        return self.if_absent or self.if_match is not None


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, read and checked once."""

    road: Road
    visit: Visit
    brain: str
    query: Any
    body: Any
    precondition: Precondition
    idempotency_key: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole response."""

    status: int
    body: bytes = b""
    headers: tuple[Header, ...] = ()

    async def send(self, visit_send: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
        """Write it."""
        head = [_NO_STORE, *self.headers]
        if self.status not in {204, 304} and not any(name == b"content-length" for name, _ in head):
            head.append((b"content-length", b"%d" % len(self.body)))
        await visit_send({"type": "http.response.start", "status": self.status, "headers": head})
        await visit_send({"type": "http.response.body", "body": self.body})


def json_answer(body: bytes, status: int = 200, *headers: Header) -> Answer:
    """A JSON body."""
    return Answer(status, body, ((b"content-type", JSON.encode()), *headers))


def problem_answer(problem: Problem, *headers: Header) -> Answer:
    """A problem, as the wire has it."""
    media = (b"content-type", PROBLEM_MEDIA.encode())
    return Answer(problem.status, msgspec.json.encode(problem), (media, *headers))


@dataclass(frozen=True, slots=True)
class Body:
    """How the body of a request is read."""

    limit: int
    shape: type[msgspec.Struct] | None = None
    """The JSON it may be."""
    raw: tuple[str, ...] = ()
    """Media types that are taken as bytes; `text/*` stands for a family."""
    default: str = ""
    """The type of a body that names none; empty when it must."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What a route answers when it succeeds."""

    status: int
    description: str
    schema: Schema | type[msgspec.Struct] | None = None
    media: str = JSON
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One method on one path, and everything its description says."""

    method: str
    path: str
    name: str
    summary: str
    handle: Callable[[Ask], Awaitable[Answer | None]]
    """None when it has written its response itself."""
    promises: tuple[Promise, ...]
    problems: tuple[int, ...] = ()
    query: type[msgspec.Struct] = NoQuery
    body: Body | None = None
    is_conditional: bool = False
    """If-Match and If-None-Match are honoured."""
    is_keyed: bool = False
    """Idempotency-Key is honoured."""
    resumes: bool = False
    """Last-Event-ID is honoured."""


class MethodNotAllowed(Exception):
    """The path is served, but not by this method."""

    def __init__(self, allowed: Sequence[str]) -> None:
        super().__init__(", ".join(allowed))
        self.allowed = allowed


@dataclass(frozen=True, slots=True)
class Match:
    """A route, and the names its path holds."""

    route: Route
    names: tuple[str, ...]


class Router:
    """Finds the route of a request by its path, segment for segment."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self.routes = tuple(routes)
        self._by_shape: dict[tuple[str, ...], dict[str, Route]] = {}
        for route in routes:
            shape = tuple("" if part.startswith("{") else part for part in route.path.split("/")[1:])
            self._by_shape.setdefault(shape, {})[route.method] = route

    def find(self, method: str, raw_path: bytes) -> Match:
        """The route that serves this request.

        Raises:
            NotFound: nothing is served at this path.
            MethodNotAllowed: something is, by other methods.
        """
        parts = _segments(raw_path)
        for shape, methods in self._by_shape.items():
            if len(shape) == len(parts) and all(part in ("", given) for part, given in zip(shape, parts, strict=True)):
                route = methods.get(method)
                if route is None:
                    raise MethodNotAllowed(sorted(methods))
                return Match(route, tuple(given for part, given in zip(shape, parts, strict=True) if not part))
        raise NotFound("nothing is served at this path; /openapi.json lists what is")


def _segments(raw_path: bytes) -> tuple[str, ...]:
    # Split before decoding: an encoded slash belongs to its segment.
    try:
        return tuple(unquote_to_bytes(part).decode() for part in raw_path.split(b"/")[1:])
    except UnicodeDecodeError:
        raise NotFound("nothing is served at this path; /openapi.json lists what is") from None
