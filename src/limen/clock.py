"""Time, in the two forms Limen uses: UTC timestamps for records, monotonic seconds for durations."""

from datetime import UTC, datetime
from time import monotonic, time_ns

__all__ = ["monotonic", "now_ms", "parse_duration_s", "timestamp"]

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time_ns() // 1_000_000


def timestamp(ms: int | None = None) -> str:
    """RFC 3339 in UTC with milliseconds, the form of every time Limen writes down."""
    at = datetime.fromtimestamp((now_ms() if ms is None else ms) / 1000, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def parse_duration_s(text: str) -> float:
    """Read `90s`, `5m`, `1.5h`, `7d` or plain seconds.

    Raises:
        ValueError: when the text is none of these.
    """
    text = text.strip()
    for unit in ("ms", "s", "m", "h", "d"):
        if text.endswith(unit):
            return _positive(text[: -len(unit)]) * _UNITS[unit]
    return _positive(text)


def _positive(number: str) -> float:
    value = float(number)
    if not 0 <= value < float("inf"):
        raise ValueError(f"{number!r} is not a duration")
    return value
