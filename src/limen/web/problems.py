"""Failures as RFC 9457 problems: a status, the wire's code, Limen's own code, and only facts that may be shown."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec

from limen.errors import FACES, LimenError
from limen.redact import redact_text

__all__ = ["PROBLEM_MEDIA", "WIRE_CODES", "Problem", "problem_of", "problem_of_code"]

PROBLEM_MEDIA: Final = "application/problem+json"

WIRE_CODES: Final[Mapping[int, str]] = {
    400: "validation_error",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    409: "conflict",
    412: "conflict",
    413: "payload_too_large",
    415: "unsupported_media_type",
    429: "rate_limited",
    500: "internal_error",
    502: "bad_gateway",
    503: "unavailable",
    504: "timeout",
    507: "insufficient_storage",
}

SHOWN_FACTS: Final = ("field", "limit", "rule", "checksum_sha256")
"""What may leave the hub besides the message; other facts stay in the log."""


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a request was not done."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    limen_code: str
    retryable: bool = False
    field: str | None = None
    limit: str | int | None = None
    rule: str | None = None
    checksum_sha256: str | None = None


def problem_of(error: LimenError, status: int | None = None) -> Problem:
    """A failure Limen understands."""
    return problem_of_code(error.code, str(error), status, retryable=error.retryable, facts=error.facts)


def problem_of_code(
    code: str,
    detail: str,
    status: int | None = None,
    *,
    retryable: bool = False,
    facts: Mapping[str, object] | None = None,
) -> Problem:
    """A failure of which only the public code and the message came through."""
    face = FACES.get(code)
    known = status or (500 if face is None else face.http)
    # A status that no caller of REST was promised says nothing to them.
    status = known if known in WIRE_CODES else 500
    shown: dict[str, Any] = {
        key: value
        for key, value in (facts or {}).items()
        if key in SHOWN_FACTS and isinstance(value, str | int) and not isinstance(value, bool)
    }
    return Problem(
        type=f"urn:limen:problem:{code}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=redact_text(detail),
        code=WIRE_CODES[status],
        limen_code=code,
        retryable=retryable,
        **{key: value if key == "limit" else str(value) for key, value in shown.items()},
    )
