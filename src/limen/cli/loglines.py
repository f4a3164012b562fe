"""Writes log records to stderr as lines, their facts as `key=value` and their secrets masked."""

import logging
from typing import TextIO

from limen.cli.printable import printable
from limen.clock import timestamp
from limen.redact import redact_text, redact_value
from limen.shapes import is_object

__all__ = ["start_logging"]

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_FACT_CHARS = 200


def start_logging(level: str, stream: TextIO) -> None:
    """Send every record of at least this level (`debug`, `info`, `warning`, `error`) to the stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Lines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # A full disk or a closed pipe on stderr must not print a traceback for every record.
    logging.raiseExceptions = False


class _Lines(logging.Formatter):
    """One record, one line; a traceback follows where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        at = timestamp(int(record.created * 1000))
        facts = "".join(f" {key}={_shown(key, value)}" for key, value in vars(record).items() if key not in _OWN)
        line = f"{at} {record.levelname.lower()} {record.name}: {printable(redact_text(record.getMessage()))}{facts}"
        if record.exc_info:
            line += "\n" + redact_text(self.formatException(record.exc_info))
        return line


def _cut(text: str) -> str:
    # A fact may be as long as a client cared to make it.
    return text if len(text) <= _FACT_CHARS else f"{text[:_FACT_CHARS]}… ({len(text)} characters)"


def _shown(key: str, value: object) -> str:
    masked = redact_value({key: value})
    text = printable(_cut(str(masked[key] if is_object(masked) else masked)))
    return f'"{text}"' if not text or " " in text else text
