"""The sample server that comes with Limen."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.samples.server import answer


def ask(method: str, **params: Any) -> Any:
    return answer(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode())


@pytest.mark.parametrize(
    ("asked", "agreed"), [("2024-11-05", "2024-11-05"), ("2025-11-25", "2025-11-25"), ("9999-01-01", "2025-11-25")]
)
def test_it_speaks_the_revision_it_is_asked_for_or_its_own(asked: str, agreed: str) -> None:
    assert ask("initialize", protocolVersion=asked)["result"]["protocolVersion"] == agreed


def test_it_echoes_and_tells_the_time() -> None:
    assert [tool["name"] for tool in ask("tools/list")["result"]["tools"]] == ["echo", "get_time"]
    assert ask("tools/call", name="echo", arguments={"text": "hi"})["result"]["content"][0]["text"] == "hi"
    told = ask("tools/call", name="get_time")["result"]
    assert told["structuredContent"]["time"] == told["content"][0]["text"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"[]", -32600),
        (b'{"id": 1, "method": "nothing"}', -32601),
        (b'{"id": 1, "method": "tools/call", "params": {"name": "x"}}', -32602),
        (b'{"id": 1, "method": "tools/call", "params": 5}', -32602),
    ],
)
def test_what_it_cannot_do_is_an_error_with_a_code(line: bytes, code: int) -> None:
    reply = answer(line)
    assert reply is not None
    assert reply["error"]["code"] == code


def test_an_echo_without_text_is_a_failure_of_the_tool() -> None:
    assert ask("tools/call", name="echo", arguments={"text": 5})["result"]["isError"] is True


def test_notifications_are_not_answered() -> None:
    assert answer(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}') is None


@given(st.binary() | st.text().map(str.encode))
def test_no_line_stops_it(line: bytes) -> None:
    answer(line)
