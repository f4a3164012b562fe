"""A log record becomes one safe line."""

import logging
from collections.abc import Generator
from io import StringIO

import pytest

from limen.cli.loglines import start_logging

log = logging.getLogger("limen.tests.loglines")


@pytest.fixture
def lines() -> Generator[StringIO]:
    """Where records go; the root logger is put back as it was."""
    root = logging.getLogger()
    handlers, level, raises = root.handlers[:], root.level, logging.raiseExceptions
    stream = StringIO()
    start_logging("info", stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.raiseExceptions = raises


def test_facts_follow_the_message(lines: StringIO) -> None:
    log.info("call ended", extra={"call_id": "01A", "duration_ms": 1.5, "said": "two words", "nothing": ""})
    _, _, line = lines.getvalue().partition(" ")
    assert line == 'info limen.tests.loglines: call ended call_id=01A duration_ms=1.5 said="two words" nothing=""\n'


def test_less_severe_records_are_left_out(lines: StringIO) -> None:
    log.debug("not of interest")
    assert not lines.getvalue()


def test_secrets_are_masked_in_messages_facts_and_tracebacks(lines: StringIO) -> None:
    secret = "abcdefgh12345678"
    log.error(
        "sent Bearer %s",
        secret,
        extra={"token": secret, "header": f"Bearer {secret}"},
        exc_info=ValueError(f"Bearer {secret}"),
    )
    assert "ValueError: Bearer" in lines.getvalue()
    assert secret not in lines.getvalue()


def test_a_record_cannot_forge_another_line(lines: StringIO) -> None:
    log.warning("bad name", extra={"value": "x\nerror limen: forged\x1b[2J"})
    assert lines.getvalue().count("\n") == 1
    assert "\x1b" not in lines.getvalue()


def test_a_fact_is_cut_where_nobody_would_read_on(lines: StringIO) -> None:
    log.info("request failed", extra={"request_id": "x" * 2_000_000})
    assert len(lines.getvalue()) < 1000
    assert "(2000000 characters)" in lines.getvalue()
