"""The guide to REST is in step with the code: every route, every code, and no others."""

import re

from limen.web.brains import BRAIN_ROUTES
from limen.web.documents import DOCUMENT_ROUTES
from limen.web.events import EventStreams
from limen.web.problems import WIRE_CODES
from tests.environment import ROOT

GUIDE = (ROOT / "docs" / "guides" / "rest.md").read_text("utf-8")
BRAIN = "/v1/brains/{brain}"


def test_the_guide_has_every_route_and_no_other() -> None:
    routes = (*BRAIN_ROUTES, *DOCUMENT_ROUTES, *EventStreams().routes)
    told = {
        (method, path if path.startswith("/v1") else BRAIN + path)
        for method, path in re.findall(r"`(GET|POST|PUT|HEAD|DELETE) (/[^`]*)`", GUIDE)
    }
    assert told == {(route.method, route.path) for route in routes}


def test_the_guide_has_every_code() -> None:
    rows = re.findall(r"^\| ([\d, ]+) \| `(\w+)` \|$", GUIDE, re.MULTILINE)
    told = {int(status): code for statuses, code in rows for status in statuses.split(",")}
    assert told == WIRE_CODES
