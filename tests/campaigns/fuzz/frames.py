"""Frames to throw at a hub: valid messages of both revisions, and what becomes of them when they are mutilated.

Odd values are drawn once from hypothesis strategies; after that a seeded random puts them together, which takes
microseconds a frame where drawing each of them would take milliseconds.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from limen.protocol.versions import META_CLIENT_CAPABILITIES, META_CLIENT_INFO, META_LOG_LEVEL, META_VERSION
from limen.shapes import is_object

__all__ = ["VALID_EVERY", "Frame", "Frames"]

VALID_EVERY = 20
POOL = 300
IDS = 40
"""Few, so that a request that never ends is one of few; their reuse in flight is refused, which is to be seen too."""

Message = dict[str, Any]

_scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**53, 2**63, 2**64, -(2**63) - 1, 10**40, 0, -1])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=30)
    | st.sampled_from(
        ["", "\x00", "\u2028", "\ufeff", "é" * 50, "../../etc/passwd", "${HOME}", "%00", "x" * 5000, "😀"]
    )
)
odd_values = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5)
)

CAPABILITIES: Message = {"elicitation": {}, "sampling": {}, "roots": {}}
META: Message = {
    META_VERSION: "2026-07-28",
    META_CLIENT_CAPABILITIES: CAPABILITIES,
    META_CLIENT_INFO: {"name": "fuzz", "version": "1"},
}
HELLO: Message = {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "clientInfo": {"name": "fuzz"}}

# What clients ask, in the words of both revisions; `_meta` is added to half of them.
BASES: list[tuple[str, Message]] = [
    ("ping", {}),
    ("initialize", HELLO),
    ("server/discover", {}),
    ("logging/setLevel", {"level": "warning"}),
    ("tools/list", {}),
    ("tools/list", {"cursor": "x"}),
    ("tools/call", {"name": "search_local_context", "arguments": {"query": "policy", "limit": 3}}),
    ("tools/call", {"name": "search_local_context", "arguments": {"query": '"quoted" AND (near OR *)'}}),
    ("tools/call", {"name": "test_simple_text", "arguments": {}}),
    ("tools/call", {"name": "test_error_handling", "arguments": {}}),
    ("tools/call", {"name": "test_elicitation", "arguments": {"message": "hi"}, "_meta": {"progressToken": 7}}),
    (
        "tools/call",
        {"name": "test_input_required_result_elicitation", "requestState": "x", "inputResponses": {"a": {}}},
    ),
    ("prompts/list", {}),
    ("prompts/get", {"name": "summarize_local_context", "arguments": {"query": "audit", "limit": "2"}}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "limen://context/status"}),
    ("resources/read", {"uri": "limen://context/search?query=wire&limit=2"}),
    ("resources/read", {"uri": "test://template/7/data"}),
    ("resources/subscribe", {"uri": "limen://context/help"}),
    ("resources/unsubscribe", {"uri": "limen://context/help"}),
    ("subscriptions/listen", {"notifications": {"toolsListChanged": True, "resourceSubscriptions": ["x://y"]}}),
    (
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": "summarize_local_context"},
            "argument": {"name": "query", "value": "a"},
        },
    ),
    ("notifications/initialized", {}),
    ("notifications/cancelled", {"requestId": 3, "reason": "fuzz"}),
    ("notifications/progress", {"progressToken": 1, "progress": 0.5}),
    ("notifications/roots/list_changed", {}),
]
SEARCH: Message = {"name": "search_local_context", "arguments": {"query": "policy"}}
VALID: list[tuple[str, Message, str]] = [
    ("ping", {}, ""),
    ("tools/list", {"_meta": META}, "tools"),
    ("tools/call", SEARCH, "structuredContent"),
    ("tools/call", SEARCH | {"_meta": META}, "structuredContent"),
    ("resources/read", {"uri": "limen://context/help"}, "contents"),
]
METHODS = sorted({method for method, _ in BASES})
ODD_METHODS = [
    "",
    " ",
    "tools",
    "tools/",
    "/tools/list",
    "TOOLS/LIST",
    "tools/list\u0000",
    "rpc.x",
    "a" * 3000,
    "é",
    "__proto__",
]
ODD_IDS: list[Any] = [None, True, 1.5, -1, 0, 2**70, "", "é", "\u0000", [], {}, [1], "x" * 2000, -(2**63)]
ODD_NUMBERS = [
    b"1e400",
    b"-0",
    b"1E+5",
    b"01",
    b"+1",
    b"1.",
    b".5",
    b"NaN",
    b"Infinity",
    b"0x1",
    b"9" * 400,
    b"9" * 6000,
    b"1_0",
]
ODD_TEXTS = [
    b"\\ud800",
    b"\\udc00\\ud800",
    b"\\u0000",
    b"\\x",
    b"\xff",
    b"\xc3\x28",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\\",
    b'"',
]
SPACES = [b" ", b"\t", b"\r", b"\x0b", b"\x00", b"\xa0"]


@dataclass(frozen=True, slots=True)
class Frame:
    """Bytes to send, and the id under which they must be answered when they are a valid request."""

    data: bytes
    expects: str = ""
    message: Message | None = None
    """What was meant, for those who repeat parts of it in headers."""
    key: str = ""
    """What its result must have in it."""

    def is_answered_by(self, reply: Message) -> bool:
        """Whether this is the answer a valid request must get."""
        result = reply.get("result")
        if reply.get("id") != self.expects or not is_object(result):
            return False
        return self.key in result and not result.get("isError") if self.key else not result


def _pool(number: int) -> list[str]:
    drawn: list[str] = []

    @seed(number)
    @settings(
        max_examples=POOL,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
    )
    @given(odd_values)
    def collect(value: Any) -> None:
        drawn.append(json.dumps(value))

    collect()
    return drawn


class Frames:
    """An endless row of frames, the same for the same seed."""

    def __init__(self, number: int) -> None:
        self._random = Random(number)
        self._pool = _pool(number)
        self._sent = 0
        self._valid = 0
        self._mutilations: list[Callable[[bytes], bytes]] = [
            self._flip,
            self._cut,
            self._insert,
            self._repeat_key,
            self._odd_number,
            self._odd_text,
            self._nest,
            self._blow_up,
            self._space_out,
            self._splice,
        ]

    def __iter__(self) -> Iterator[Frame]:
        while True:
            self._sent += 1
            yield self._valid_frame() if self._sent % VALID_EVERY == 0 else self._odd_frame()

    def _valid_frame(self) -> Frame:
        self._valid += 1
        name = f"valid-{self._valid}"
        method, params, key = VALID[self._valid % len(VALID)]
        message: Message = {"jsonrpc": "2.0", "id": name, "method": method, "params": params}
        return Frame(json.dumps(message).encode(), name, message, key)

    def _odd_frame(self) -> Frame:
        message = self._message()
        for _ in range(self._random.choice((0, 0, 1, 1, 2))):
            self._distort(message)
        data = json.dumps(message, ensure_ascii=self._random.random() < 0.5).encode("utf-8", "surrogatepass")
        for _ in range(self._random.choice((0, 0, 0, 1, 2))):
            data = self._random.choice(self._mutilations)(data)
        return Frame(data, message=message)

    def _message(self) -> Message:
        shape = self._random.random()
        if shape < 0.05:
            return {"jsonrpc": "2.0", "id": self._random.randrange(IDS), "result": self._odd()}
        if shape < 0.08:
            return {
                "jsonrpc": "2.0",
                "id": self._random.randrange(IDS),
                "error": {"code": -1, "message": "", "data": self._odd()},
            }
        if shape < 0.2:
            # Some requests never end by themselves, and their ids are needed again.
            return {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": self._random.randrange(IDS)},
            }
        method, params = self._random.choice(BASES)
        if self._random.random() < 0.5:
            asks_for_logs = {META_LOG_LEVEL: "debug"} if self._random.random() < 0.2 else {}
            params = params | {"_meta": META | params.get("_meta", {}) | asks_for_logs}
        # Copied to the bottom, because it is going to be distorted there.
        message: Message = {"jsonrpc": "2.0", "method": method, "params": json.loads(json.dumps(params))}
        if not method.startswith("notifications/"):
            message["id"] = self._random.randrange(IDS)
        return message

    def _odd(self) -> Any:
        # Read anew each time, because it may be distorted where it is put.
        return json.loads(self._random.choice(self._pool))

    def _distort(self, message: Message) -> None:
        """Change the envelope, or something in the params."""
        match self._random.randrange(9):
            case 0:
                message.pop(self._random.choice(list(message)), None) if message else None
            case 1:
                message[str(self._odd())[:20]] = self._odd()
            case 2:
                message[self._random.choice(["jsonrpc", "id", "method", "params", "result", "error"])] = self._odd()
            case 3:
                message["id"] = self._random.choice(ODD_IDS)
            case 4:
                message["method"] = self._random.choice(ODD_METHODS + METHODS)
            case 5:
                message["params"] = self._odd()
            case _:
                self._distort_within(message.get("params"))

    def _distort_within(self, node: Any) -> None:
        for _ in range(3):
            if not isinstance(node, dict) or not node:
                return
            inside: Message = node  # pyright: ignore[reportUnknownVariableType] -- parsed JSON
            key = self._random.choice(list(inside))
            step = self._random.random()
            if step < 0.3:
                node = inside[key]
                continue
            if step < 0.6:
                inside[key] = self._odd()
            elif step < 0.8:
                del inside[key]
            else:
                inside[str(self._odd())[:20]] = self._odd()
            return

    def _place(self, data: bytes) -> int:
        return self._random.randrange(len(data) + 1)

    def _flip(self, data: bytes) -> bytes:
        changed = bytearray(data or b"x")
        for _ in range(self._random.choice((1, 1, 2, 8))):
            changed[self._random.randrange(len(changed))] ^= 1 << self._random.randrange(8)
        return bytes(changed)

    def _cut(self, data: bytes) -> bytes:
        place = self._place(data)
        return data[:place] if self._random.random() < 0.7 else data[place:]

    def _insert(self, data: bytes) -> bytes:
        place = self._place(data)
        return data[:place] + self._random.randbytes(self._random.randrange(1, 12)) + data[place:]

    def _repeat_key(self, data: bytes) -> bytes:
        key = self._random.choice(
            [b'"id":9,', b'"method":"ping",', b'"jsonrpc":"1.0",', b'"params":{},', b'"params":{},"params":[],']
        )
        return data.replace(b"{", b"{" + key, 1)

    def _odd_number(self, data: bytes) -> bytes:
        place = data.find(b":", self._place(data))
        end = place + 1 + len(data[place + 1 :]) - len(data[place + 1 :].lstrip(b" 0123456789"))
        return data[: place + 1] + self._random.choice(ODD_NUMBERS) + data[end:] if place >= 0 else data

    def _odd_text(self, data: bytes) -> bytes:
        place = data.find(b'"', self._place(data))
        return data[: place + 1] + self._random.choice(ODD_TEXTS) + data[place + 1 :]

    def _nest(self, data: bytes) -> bytes:
        levels = self._random.choice((3, 90, 101, 150, 1100, 20_000))
        opening, closing = self._random.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")))
        deep = opening * levels + b"1" + closing * (levels if self._random.random() < 0.8 else 0)
        place = data.find(b":", self._place(data))
        return data[: place + 1] + deep + b"," + data[place + 1 :] if place >= 0 else deep

    def _blow_up(self, data: bytes) -> bytes:
        size = 5_000_000 if self._random.random() < 0.002 else self._random.choice((100, 5_000, 70_000))
        place = data.find(b'"', self._place(data))
        return (
            data[: place + 1]
            + self._random.choice((b"a", b'\\"', b"\\u0061", b"\xc3\xa9", b"[")) * (size // 4)
            + data[place + 1 :]
        )

    def _space_out(self, data: bytes) -> bytes:
        space = self._random.choice(SPACES) * self._random.choice((1, 3, 500))
        place = self._random.choice((0, len(data), self._place(data)))
        return data[:place] + space + data[place:]

    def _splice(self, data: bytes) -> bytes:
        other = json.dumps(self._message()).encode()
        return self._random.choice((data + other, b"[" + data + b"," + other + b"]", data[: self._place(data)] + other))
