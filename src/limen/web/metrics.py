"""`/metrics`: what the hub counts, in the text format that Prometheus reads."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from limen.app import Limen
from limen.calls.call import Caller
from limen.calls.meter import BUCKETS_S, Durations, Meter
from limen.errors import LimenError
from limen.server.responses import Receive, Scope, Send
from limen.web.problems import problem_of
from limen.web.routes import Answer, problem_answer

__all__ = ["METRICS_PATH", "Gauge", "MetricsDoor", "gauges_of"]

METRICS_PATH: Final = "/metrics"
_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Gauge:
    """One value as it is now."""

    name: str
    help: str
    values: Sequence[tuple[Mapping[str, str], float]]


@dataclass(frozen=True, slots=True)
class MetricsDoor:
    """Serves the figures to those who may call the hub at all."""

    meter: Meter
    gauges: Callable[[], Sequence[Gauge]]
    identify: Callable[[Scope], Caller]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        try:
            self.identify(scope)
        except LimenError as error:
            await problem_answer(problem_of(error)).send(send)
            return
        body = "\n".join([*_calls(self.meter), *_durations(self.meter), *_gauges(self.gauges()), ""])
        await Answer(200, body.encode(), ((b"content-type", _TEXT.encode()),)).send(send)


def gauges_of(limen: Limen) -> Sequence[Gauge]:
    """How the hub is at this moment."""
    servers = () if limen.gateway is None else limen.gateway.status()
    return (
        Gauge("limen_audit_pending_rows", "Audit rows that are not in the chain yet.", [({}, limen.audit.pending)]),
        Gauge(
            "limen_upstream_state",
            "1 for the state each upstream server is in.",
            [({"server": server.name, "state": server.state}, 1) for server in servers],
        ),
        Gauge(
            "limen_upstream_tools",
            "Tools that each upstream server offers here.",
            [({"server": server.name}, server.tools) for server in servers],
        ),
    )


def _calls(meter: Meter) -> Iterator[str]:
    yield "# HELP limen_calls_total Calls that took the road, by who served them and how they ended."
    yield "# TYPE limen_calls_total counter"
    for (source, method, status), count in sorted(meter.calls.items()):
        yield f"limen_calls_total{_labels(source=source, method=method, status=status)} {count}"


def _durations(meter: Meter) -> Iterator[str]:
    name = "limen_call_duration_seconds"
    yield f"# HELP {name} How long calls took, by who served them."
    yield f"# TYPE {name} histogram"
    for source, durations in sorted(meter.durations.items()):
        yield from _histogram(name, source, durations)


def _histogram(name: str, source: str, durations: Durations) -> Iterator[str]:
    bounds = [*(f"{bound:g}" for bound in BUCKETS_S), "+Inf"]
    for bound, count in zip(bounds, accumulate(durations.counts), strict=True):
        yield f"{name}_bucket{_labels(source=source, le=bound)} {count}"
    yield f"{name}_sum{_labels(source=source)} {durations.total_s:.6f}"
    yield f"{name}_count{_labels(source=source)} {sum(durations.counts)}"


def _gauges(gauges: Sequence[Gauge]) -> Iterator[str]:
    for gauge in gauges:
        yield f"# HELP {gauge.name} {gauge.help}"
        yield f"# TYPE {gauge.name} gauge"
        for labels, value in gauge.values:
            yield f"{gauge.name}{_labels(**labels)} {value:g}"


def _labels(**values: str) -> str:
    escaped = {
        name: value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"') for name, value in values.items()
    }
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped.items()) + "}" if values else ""
