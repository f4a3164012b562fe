"""The registry client against a real HTTP server that speaks the API."""

from collections.abc import Generator

import pytest

from limen.errors import NotFound, Unreachable, UpstreamError
from limen.gateway.registry import client
from limen.gateway.registry.client import Registry
from tests.servers.registry import Registry as FakeRegistry
from tests.servers.registry import open_registry

pytestmark = pytest.mark.anyio


def a_record(name: str, version: str = "1.0.0") -> dict[str, object]:
    return {"name": name, "version": version, "description": f"about {name}"}


@pytest.fixture
def registry() -> Generator[FakeRegistry]:
    names = ["com.example/weather", "com.weather/other", "com.example/weather-map", "org.x/git", "com.z/myweather"]
    with open_registry(*map(a_record, names)) as opened:
        yield opened


async def test_search_reads_all_pages_and_puts_the_nearest_first(registry: FakeRegistry) -> None:
    found = await Registry(registry.url).search("weather", 20)
    assert [listed.server.name for listed in found] == [
        "com.example/weather",
        "com.example/weather-map",
        "com.z/myweather",
        "com.weather/other",
    ]
    assert len(registry.asked) == 2


async def test_search_stops_when_it_has_enough(registry: FakeRegistry) -> None:
    assert len(await Registry(registry.url + "/v0.1/").search("weather", 1)) == 1
    assert len(registry.asked) == 1


async def test_a_registry_that_pages_for_ever_is_left(registry: FakeRegistry) -> None:
    registry.answer = 200, b'{"servers": [{"name": "a/b"}], "metadata": {"next_cursor": "again"}}'
    assert [listed.server.name for listed in await Registry(registry.url).search("b", 20)] == ["a/b"]
    assert len(registry.asked) == 2


async def test_one_server_is_found_by_its_name_and_version(registry: FakeRegistry) -> None:
    found = await Registry(registry.url).get("com.example/weather", "1.0.0")
    assert (found.server.version, found.status) == ("1.0.0", "active")
    assert registry.asked == ["/v0.1/servers/com.example%2Fweather/versions/1.0.0"]
    with pytest.raises(NotFound):
        await Registry(registry.url).get("com.example/weather", "9.9.9")
    with pytest.raises(NotFound):
        await Registry(registry.url).get("../../../etc/passwd")


@pytest.mark.parametrize(
    "answer",
    [
        (200, b"<html>"),
        (200, b"[" * 100_000),
        (200, b"[]"),
        (500, b"{}"),
        (302, b"{}"),
        (200, b'{"server": {"name": "somebody/else"}}'),
        (200, b" " * (client.ANSWER_BYTES + 1)),
    ],
)
async def test_an_answer_that_cannot_be_used_is_an_error(registry: FakeRegistry, answer: tuple[int, bytes]) -> None:
    registry.answer = answer
    with pytest.raises(UpstreamError):
        await Registry(registry.url).get("com.example/weather")


async def test_a_registry_that_is_not_there_is_unreachable(free_port: int) -> None:
    with pytest.raises(Unreachable):
        await Registry(f"http://127.0.0.1:{free_port}").search("x", 1)
