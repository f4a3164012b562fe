"""The REST door: finds the route, reads the request, takes the road, and tells every failure as a problem."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from limen.calls.call import Caller
from limen.calls.pipeline import Pipeline
from limen.errors import Conflict, LimenError, NoBrain
from limen.server.http import Route
from limen.server.responses import Receive, Scope, Send, Visit
from limen.web.brains import BRAIN_ROUTES
from limen.web.documents import DOCUMENT_ROUTES
from limen.web.events import EventStreams
from limen.web.openapi import describe
from limen.web.problems import problem_of, problem_of_code
from limen.web.reading import Gone, read_body, read_key, read_precondition, read_query
from limen.web.road import Road, ToolRefused
from limen.web.routes import (
    Answer,
    Ask,
    Match,
    MethodNotAllowed,
    Precondition,
    Router,
    json_answer,
    problem_answer,
)

__all__ = ["DESCRIPTION_PATH", "PREFIX", "RestDoor"]

log = logging.getLogger(__name__)

PREFIX: Final = "/v1"
DESCRIPTION_PATH: Final = "/openapi.json"
BRAIN_CHARS: Final = 128
CONDITION_FIELDS: Final = frozenset({"expected", "If-Match"})

_NOTHING: Final = Precondition()


@dataclass(slots=True)
class RestDoor:
    """An ASGI application that serves REST on one road."""

    pipeline: Pipeline
    identify: Callable[[Scope], Caller]
    besides: Mapping[str, Route] = field(default_factory=dict[str, Route])
    """What else is served at an exact path."""
    streams: EventStreams = field(default_factory=EventStreams)
    router: Router = field(init=False)
    _description: bytes = b""

    def __post_init__(self) -> None:
        self.router = Router((*BRAIN_ROUTES, *DOCUMENT_ROUTES, *self.streams.routes))

    @property
    def routes(self) -> dict[str, Route]:
        """What is served at an exact path."""
        return {DESCRIPTION_PATH: self.describe, **self.besides}

    @property
    def prefixes(self) -> dict[str, Route]:
        """What is served beneath a first segment."""
        return {PREFIX: self}

    def stop(self) -> None:
        """End what would never end by itself."""
        self.streams.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request beneath the prefix."""
        try:
            answer = await self._answer(scope, receive, send)
        except Gone:
            return
        if answer is not None:
            await answer.send(send)

    async def describe(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the description of everything here; it holds no secrets and needs no identity."""
        if scope["method"] not in {"GET", "HEAD"}:
            await _not_allowed(["GET", "HEAD"]).send(send)
            return
        if not self._description:
            self._description = msgspec.json.encode(describe(self.router.routes))
        await json_answer(self._description).send(send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> Answer | None:
        precondition = _NOTHING
        try:
            visit = Visit(self.identify(scope), scope, receive, send)
            match = self.router.find(scope["method"], scope["raw_path"])
            if match.route.is_conditional:
                precondition = read_precondition(visit)
            return await match.route.handle(await self._read(visit, match, precondition))
        except Conflict as error:
            # RFC 9110, 15.5.13: it was the caller's own condition that did not hold.
            is_own = precondition.is_given and error.facts.get("field") in CONDITION_FIELDS
            return problem_answer(problem_of(error, 412 if is_own else None))
        except LimenError as error:
            return problem_answer(problem_of(error))
        except ToolRefused as error:
            return problem_answer(problem_of_code(error.code, str(error), retryable=error.retryable))
        except MethodNotAllowed as error:
            return _not_allowed(error.allowed)
        except Gone:
            raise
        except Exception:
            # This door's last line.
            log.exception("REST request failed", extra={"method": scope["method"], "path": scope["path"]})
            return problem_answer(problem_of_code("internal", "something went wrong here; the hub's log has the rest"))

    async def _read(self, visit: Visit, match: Match, precondition: Precondition) -> Ask:
        route = match.route
        query = read_query(visit.scope["query_string"], route.query)
        return Ask(
            road=Road.of(self.pipeline, visit.caller, visit.header(b"user-agent") or ""),
            visit=visit,
            brain=_brain(match.names),
            query=query,
            body=None if route.body is None else await read_body(visit, route.body),
            precondition=precondition,
            idempotency_key=read_key(visit) if route.is_keyed else "",
        )


def _brain(names: tuple[str, ...]) -> str:
    if not names:
        return ""
    name = names[0]
    if (
        not name
        or len(name) > BRAIN_CHARS
        or not name.isascii()
        or not name.replace("-", "").replace("_", "").isalnum()
    ):
        raise NoBrain("there is no brain of this name")
    return name


def _not_allowed(allowed: Sequence[str]) -> Answer:
    names = ", ".join(allowed)
    problem = problem_of_code("method_not_found", f"this path is served by {names}", 405)
    return problem_answer(problem, (b"allow", names.encode()))
