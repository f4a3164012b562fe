"""No MCP client, of either revision and on either transport, can see or reach an operation."""

from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest

from limen.calls.call import Call
from limen.toolsets.operations import Operation, Operations
from tests.house import House, a_house
from tests.requirements import requirement
from tests.road.conftest import TRANSPORTS
from tests.road.doors import SESSION, STATELESS, Client, open_client
from tests.road.workshop import Workshop

pytestmark = pytest.mark.anyio


class Args(msgspec.Struct, frozen=True):
    """Anything."""


class Reached:
    """An operation that notes when somebody comes."""

    def __init__(self) -> None:
        self.times = 0

    async def run(self, args: Args, call: Call) -> dict[str, int]:
        self.times += 1
        return {}


@pytest.fixture
def reached() -> Reached:
    return Reached()


@pytest.fixture
def house(workshop: Workshop, reached: Reached) -> House:
    operations = Operations("store", [Operation("document_put", "Writes.", Args, reached.run, "write", "write")])
    return a_house(providers={"workshop": workshop.toolset, "store": operations})


@pytest.fixture(params=[(door, revision) for door in TRANSPORTS for revision in (SESSION, STATELESS)], ids="-".join)
async def client(request: pytest.FixtureRequest, house: House) -> AsyncGenerator[Client, None]:
    door, revision = request.param
    async with open_client(house, door, revision) as opened:
        yield opened


@requirement("rest.operations-hidden")
async def test_no_list_shows_an_operation(client: Client) -> None:
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
        assert "document_put" not in str(await client.result(method))


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "document_put", "arguments": {}}),
        ("tools/call", {"name": "document_put", "arguments": {}, "kind": "operation"}),
        ("prompts/get", {"name": "document_put"}),
        ("resources/read", {"uri": "document_put"}),
        ("resources/read", {"uri": "operation:document_put"}),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "document_put"}, "argument": {"name": "a", "value": ""}},
        ),
        (
            "completion/complete",
            {"ref": {"type": "ref/resource", "uri": "document_put"}, "argument": {"name": "a", "value": ""}},
        ),
        (
            "completion/complete",
            {"ref": {"type": "ref/operation", "name": "document_put"}, "argument": {"name": "a", "value": ""}},
        ),
        ("operations/call", {"name": "document_put", "arguments": {}}),
        ("operations/list", {}),
    ],
)
@requirement("rest.operations-hidden")
async def test_no_method_reaches_an_operation(
    client: Client, reached: Reached, method: str, params: dict[str, Any]
) -> None:
    assert (await client.error(method, params))["code"] in {-32602, -32601, -32002}
    assert reached.times == 0
