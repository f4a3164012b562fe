"""Every road test runs through a door: a memory channel or real HTTP, in either revision, by one fixture."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from tests.house import House, a_house
from tests.road.doors import SESSION, STATELESS, Client, Hub, open_client, open_hub
from tests.road.workshop import Workshop

TRANSPORTS = ["memory", "http"]
CAPABILITIES: dict[str, Any] = {"elicitation": {}, "roots": {}, "sampling": {}}


@pytest.fixture
def workshop(anyio_backend: str) -> Workshop:
    """The tools behind the door."""
    return Workshop()


@pytest.fixture
def house(workshop: Workshop) -> House:
    """The house they stand in."""
    return a_house(providers={"workshop": workshop.toolset})


@pytest.fixture(params=[(door, revision) for door in TRANSPORTS for revision in (SESSION, STATELESS)], ids="-".join)
async def client(request: pytest.FixtureRequest, house: House) -> AsyncGenerator[Client, None]:
    """A client of either revision on either transport."""
    door, revision = request.param
    async with open_client(house, door, revision, capabilities=CAPABILITIES) as opened:
        yield opened


@pytest.fixture(params=TRANSPORTS)
async def session(request: pytest.FixtureRequest, house: House) -> AsyncGenerator[Client, None]:
    """A client of 2025-11-25 that has said hello, on either transport."""
    async with open_client(house, request.param, SESSION, capabilities=CAPABILITIES) as opened:
        yield opened


@pytest.fixture(params=TRANSPORTS)
async def stateless(request: pytest.FixtureRequest, house: House) -> AsyncGenerator[Client, None]:
    """A client of 2026-07-28, on either transport."""
    async with open_client(house, request.param, STATELESS, capabilities=CAPABILITIES) as opened:
        yield opened


@pytest.fixture
async def hub(house: House) -> AsyncGenerator[Hub, None]:
    """The house behind HTTP, for tests that speak bare HTTP."""
    async with open_hub(house) as opened:
        yield opened
