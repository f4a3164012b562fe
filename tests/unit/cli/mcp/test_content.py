"""What servers answer, on a terminal."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.cli.mcp.content import Answer, failure_text, readable_size


def drawn(**result: Any) -> str:
    return Answer(result).draw(80, is_colored=False)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"content": [{"type": "text", "text": "a\nb\tc"}]}, "a\nb   c"),
        ({"content": []}, "(an empty answer)"),
        ({"content": [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}]}, "[audio audio/wav, 3 bytes]"),
        ({"content": [{"type": "hologram"}]}, "[hologram: a kind of content that Limen does not know]"),
        (
            {"contents": [{"uri": "x:y", "blob": "A" * 4096, "mimeType": "application/pdf"}]},
            "[resource x:y, application/pdf, 3.0 KiB]",
        ),
        ({"content": [{"type": "text", "text": '{"a": 1}'}], "structuredContent": {"a": 1}}, '{"a": 1}'),
        ({"content": [{"type": "text", "text": "noon"}], "structuredContent": {"time": "noon"}}, "noon"),
        ({"content": [{"type": "text", "text": "x"}], "structuredContent": {"a": 1}}, 'x\n{\n  "a": 1\n}'),
        ({"content": [{"type": "text", "text": "\x1b]0;gotcha\x07"}]}, "\\x1b]0;gotcha\\x07"),
    ],
)
def test_an_answer_is_shown(result: dict[str, Any], expected: str) -> None:
    assert drawn(**result) == expected


scalars = st.none() | st.text() | st.integers()
kinds = st.sampled_from(["text", "image", "audio", "resource", "resource_link"])
blocks = st.fixed_dictionaries(
    {"type": kinds | scalars},
    optional=dict.fromkeys(["text", "data", "mimeType", "resource", "uri", "name", "blob"], scalars),
)


@given(scalars | blocks | st.lists(scalars | blocks, max_size=3))
def test_whatever_a_server_answers_can_be_shown(anything: Any) -> None:
    for result in ({"content": anything}, {"content": [anything]}, {"messages": [anything]}, {"contents": [anything]}):
        assert "\x1b" not in drawn(**result)
        assert failure_text(result)


def test_sizes_are_told_as_people_do() -> None:
    assert [readable_size(count) for count in (1, 2048, 3 << 20)] == ["1 bytes", "2.0 KiB", "3.0 MiB"]
