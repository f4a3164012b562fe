"""A registry's record becomes an entry of the settings: pinned, and with no variable filled in but those we name."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.config.variables import expand
from limen.errors import InvalidArguments, UpstreamError
from limen.gateway.registry.drafting import draft_entry
from limen.gateway.registry.placeholders import Draft, literal
from limen.gateway.registry.records import read_record
from tests.requirements import requirement


def a_record(**fields: Any) -> dict[str, Any]:
    return {"name": "com.example/weather", "version": "1.2.3", "description": "Tells the weather.", **fields}


def a_package(kind: str = "npm", **fields: Any) -> dict[str, Any]:
    return {
        "registryType": kind,
        "identifier": "@example/weather",
        "version": "1.2.3",
        "transport": {"type": "stdio"},
        **fields,
    }


def drafted(**fields: Any) -> Draft:
    return draft_entry(read_record({"server": a_record(**fields)}).server, "weather")


@pytest.mark.parametrize(
    ("package", "entry"),
    [
        (a_package(), {"command": "npx", "args": ["-y", "@example/weather@1.2.3"]}),
        (a_package("pypi", identifier="weather-mcp"), {"command": "uvx", "args": ["weather-mcp@1.2.3"]}),
        (a_package("nuget", identifier="Weather.Mcp"), {"command": "dnx", "args": ["Weather.Mcp@1.2.3", "--yes"]}),
        (
            a_package("oci", identifier="ghcr.io/example/weather:1.2.3", version=""),
            {"command": "docker", "args": ["run", "-i", "--rm", "ghcr.io/example/weather:1.2.3"]},
        ),
        (
            a_package("oci", identifier="example/weather", runtimeHint="podman"),
            {"command": "podman", "args": ["run", "-i", "--rm", "example/weather:1.2.3"]},
        ),
        (
            a_package(runtimeHint="npx", runtimeArguments=[{"type": "positional", "value": "-y"}]),
            {"command": "npx", "args": ["-y", "@example/weather@1.2.3"]},
        ),
    ],
)
def test_a_package_is_started_in_its_very_version(package: dict[str, Any], entry: dict[str, Any]) -> None:
    assert drafted(packages=[package]).entry == entry


def test_snake_case_is_read_like_camel_case() -> None:
    old = {
        "registry_type": "npm",
        "identifier": "weather",
        "version": "1.0.0",
        "environment_variables": [{"name": "A_KEY", "is_required": True}],
    }
    draft = draft_entry(read_record(a_record(packages=[old])).server, "weather")
    assert draft.entry == {"command": "npx", "args": ["-y", "weather@1.0.0"], "env": {"A_KEY": "${A_KEY}"}}


def test_what_is_left_to_the_user_becomes_a_variable() -> None:
    package = a_package(
        environmentVariables=[
            {"name": "WEATHER_KEY", "isRequired": True, "isSecret": True, "description": "From the site"},
            {"name": "UNITS", "default": "metric"},
            {"name": "PROXY", "description": "Optional"},
        ],
        packageArguments=[
            {"type": "named", "name": "--city", "isRequired": True},
            {"type": "named", "name": "--debug"},
            {"type": "positional", "valueHint": "folder", "isRequired": True},
            {"type": "positional", "value": "{host}:80", "variables": {"host": {"default": "local"}}},
        ],
    )
    draft = drafted(packages=[package])
    assert draft.entry["args"] == [
        "-y",
        "@example/weather@1.2.3",
        "--city",
        "${WEATHER_CITY}",
        "${WEATHER_FOLDER}",
        "local:80",
    ]
    assert draft.entry["env"] == {"WEATHER_KEY": "${WEATHER_KEY}", "UNITS": "metric"}
    assert [(needed.name, needed.is_secret) for needed in draft.needs] == [
        ("WEATHER_KEY", True),
        ("WEATHER_CITY", False),
        ("WEATHER_FOLDER", False),
    ]


def test_a_container_is_handed_its_variables() -> None:
    package = a_package("oci", identifier="example/weather", environmentVariables=[{"name": "KEY", "isRequired": True}])
    assert drafted(packages=[package]).entry["args"] == ["run", "-i", "--rm", "-e", "KEY", "example/weather:1.2.3"]


def test_a_program_comes_before_an_address() -> None:
    remote = {"type": "streamable-http", "url": "https://mcp.example.com"}
    assert "command" in drafted(packages=[a_package()], remotes=[remote]).entry
    assert drafted(remotes=[remote]).entry == {"url": "https://mcp.example.com"}
    unpinned = drafted(packages=[a_package(version="latest")], remotes=[remote])
    assert unpinned.entry == {"url": "https://mcp.example.com"}
    assert "passed over" in unpinned.notes[0]


def test_an_address_has_its_headers_and_variables() -> None:
    remote = {
        "type": "sse",
        "url": "https://{tenant}.example.com/mcp",
        "variables": {"tenant": {"isRequired": True}},
        "headers": [
            {"name": "Authorization", "value": "Bearer {key}", "variables": {"key": {"isRequired": True}}},
            {"name": "X-Optional"},
        ],
    }
    assert drafted(remotes=[remote]).entry == {
        "url": "https://${WEATHER_TENANT}.example.com/mcp",
        "headers": {"Authorization": "Bearer ${WEATHER_KEY}"},
        "transport": "sse",
    }


@requirement("registry.pinned")
@pytest.mark.parametrize("version", ["latest", "", "^1.0.0", "~1", "1.x || 2", ">=1", "*", "--help", "1.0 && rm"])
def test_a_version_that_moves_is_refused(version: str) -> None:
    with pytest.raises(InvalidArguments):
        drafted(packages=[a_package(version=version)])


@pytest.mark.parametrize(
    "package",
    [
        a_package(identifier="--eval=x"),
        a_package(identifier="a b"),
        a_package("pypi", identifier="--from evil"),
        a_package("oci", identifier="example/weather:latest"),
        a_package("oci", identifier="example/weather", version=""),
        a_package("oci", identifier="--privileged"),
        a_package("mcpb", identifier="https://example.com/x.mcpb"),
        a_package("shell", identifier="sh"),
        a_package(transport={"type": "streamable-http", "url": "http://localhost:1"}),
        a_package(packageArguments=[{"type": "positional", "value": "a\nb"}]),
        a_package(environmentVariables=[{"name": "A B", "isRequired": True}]),
    ],
)
def test_what_cannot_be_trusted_to_be_a_package_is_refused(package: dict[str, Any]) -> None:
    with pytest.raises(InvalidArguments):
        drafted(packages=[package])


def test_a_record_cannot_choose_what_is_run() -> None:
    draft = drafted(packages=[a_package(runtimeHint="/bin/sh")])
    assert draft.entry["command"] == "npx"
    assert "/bin/sh" in draft.notes[0]


def test_a_record_cannot_read_our_variables() -> None:
    package = a_package(
        packageArguments=[{"type": "positional", "value": "${AWS_SECRET}"}],
        environmentVariables=[{"name": "X", "value": "${HOME}/${GITHUB_TOKEN}"}],
    )
    entry = drafted(packages=[package]).entry
    env = {"AWS_SECRET": "s3cret", "HOME": "/home/you", "GITHUB_TOKEN": "t0ken"}
    assert [expand(word, env).text for word in entry["args"]][-1] == "${AWS_SECRET}"
    assert expand(entry["env"]["X"], env).text == "${HOME}/${GITHUB_TOKEN}"


def test_wishes_for_more_of_this_machine_are_told() -> None:
    mount = {"type": "named", "name": "--mount", "value": "type=bind,src=/,dst=/host"}
    draft = drafted(packages=[a_package("oci", identifier="example/weather", runtimeArguments=[mount])])
    assert any("--mount" in note for note in draft.notes)


@given(st.text(alphabet="${}ABC_:-x"))
def test_a_literal_means_itself(text: str) -> None:
    assert expand(literal(text), {"A": "filled", "B": "filled", "C": "filled"}).text == text


NO_RECORDS: list[Any] = [None, [], {}, {"server": {}}, {"name": 5}, {"server": {"name": "x", "packages": [{}]}}]


@pytest.mark.parametrize("data", NO_RECORDS)
def test_what_is_no_record_is_an_error_of_the_registry(data: object) -> None:
    with pytest.raises(UpstreamError):
        read_record(data)
