"""What the hub counts can be read by Prometheus, by those who may call the hub."""

import re
from typing import Any

import pytest

from limen.calls.call import Call, Caller, Capability, Outcome, Subject
from limen.calls.meter import Meter
from limen.errors import AuthRequired
from limen.ids import new_call_id
from limen.web.metrics import Gauge, MetricsDoor
from tests.house import SilentExchange
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

LINE = re.compile(r'[a-z_]+(\{([a-z]+="([^"\\\n]|\\.)*",?)+\})? [0-9.e+-]+')
ME = Caller(Subject("me"))


def noted(*took_ms: float, source: str = "files") -> Meter:
    meter = Meter()
    capability = Capability("tool", "read", b"{}", source)
    for ms in took_ms:
        call = Call(new_call_id(), "tools/call", "tool", "read", b"{}", ME, SilentExchange())
        meter.note(call, capability, Outcome("ok", duration_ms=ms))
    return meter


async def answered(door: MetricsDoor) -> tuple[int, str]:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    await door({"type": "http", "method": "GET", "path": "/metrics"}, receive, send)
    return sent[0]["status"], sent[1]["body"].decode()


@requirement("metrics")
async def test_calls_and_their_durations_are_counted_by_who_served_them() -> None:
    status, text = await answered(MetricsDoor(noted(0.5, 3, 400), lambda: (), lambda _: ME))
    assert status == 200
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(LINE.fullmatch(line) for line in lines)
    assert 'limen_calls_total{source="files",method="tools/call",status="ok"} 3' in lines
    assert 'limen_call_duration_seconds_bucket{source="files",le="0.001"} 1' in lines
    assert 'limen_call_duration_seconds_bucket{source="files",le="0.005"} 2' in lines
    assert 'limen_call_duration_seconds_bucket{source="files",le="+Inf"} 3' in lines
    assert 'limen_call_duration_seconds_sum{source="files"} 0.403500' in lines


@requirement("metrics")
async def test_a_name_cannot_break_the_format() -> None:
    gauge = Gauge("limen_upstream_tools", "Tools.", [({"server": 'a"b\\c\nd'}, 2)])
    _, text = await answered(MetricsDoor(noted(1, source='x"\n'), lambda: [gauge], lambda _: ME))
    assert all(LINE.fullmatch(line) for line in text.splitlines() if not line.startswith("#"))
    assert 'limen_upstream_tools{server="a\\"b\\\\c\\nd"} 2' in text


@requirement("metrics")
async def test_whoever_may_not_call_the_hub_may_not_count_it_either() -> None:
    def refuse(_: object) -> Caller:
        raise AuthRequired("who are you?")

    status, text = await answered(MetricsDoor(noted(1), lambda: (), refuse))
    assert status == 401
    assert "limen_calls_total" not in text
