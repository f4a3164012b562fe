"""How a run of a program looks as a tool's result. Knows neither frames nor processes."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from limen.transport.cli.execution import Captured, Finished

__all__ = ["failure", "result_of"]

META_EXIT: Final = "limen/exit_status"
META_BYTES: Final = "limen/stdout_bytes"
_MOST_GARBLED: Final = 0.3
"""The share of undecodable characters above which output is not text."""


def result_of(finished: Finished, *, timeout_s: float, most_bytes: int) -> dict[str, Any]:
    """The result of a call: what the program said, and whether it failed. `most_bytes` bounds each text on the wire."""
    texts = [fit(text, most_bytes) for text in _texts(finished, timeout_s)]
    meta: dict[str, Any] = {META_BYTES: finished.stdout.total_bytes}
    if finished.status is not None:
        meta[META_EXIT] = finished.status
    return {
        "content": [{"type": "text", "text": text} for text in texts],
        "isError": finished.status != 0,
        "_meta": meta,
    }


def failure(message: str) -> dict[str, Any]:
    """The result of a call that could not be made as it was asked for."""
    return {"content": [{"type": "text", "text": message}], "isError": True}


def _texts(finished: Finished, timeout_s: float) -> Iterator[str]:
    stdout, stderr = _stdout(finished.stdout), _stderr(finished.stderr)
    if finished.status == 0:
        yield stdout or ("" if stderr else "(no output)")
        if stderr:
            yield f"stderr:\n{stderr}"
        return
    ending = _ending(finished.status, timeout_s)
    yield f"{ending}\n{stderr}" if stderr else ending
    if stdout:
        yield f"stdout:\n{stdout}"


def _ending(status: int | None, timeout_s: float) -> str:
    if status is None:
        return f"stopped: it had not ended after {timeout_s:g} s"
    return f"ended by signal {-status}" if status < 0 else f"exit status {status}"


def _stdout(captured: Captured) -> str:
    text = _decoded(captured)
    if text is None:
        return f"(binary output of {captured.total_bytes} bytes, not shown; let the program write it to a file)"
    if captured.is_cut:
        return f"{text}\n\n[cut: {captured.total_bytes} bytes in all, the first {len(captured.data)} are shown]"
    return text


def _stderr(captured: Captured) -> str:
    text = captured.data.decode(errors="replace").replace("\0", "").strip("\n")
    if captured.is_cut:
        return f"[cut: {captured.total_bytes} bytes in all, the last {len(captured.data)} are shown]\n{text}"
    return text


def _decoded(captured: Captured) -> str | None:
    """The text, or None when it is none; a character that was cut in two at the end is left out."""
    data = captured.data
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if captured.is_cut and error.start >= len(data) - 3:
            return data[: error.start].decode()
    text = data.decode(errors="replace")
    return None if text.count("�") > _MOST_GARBLED * len(text) else text


def fit(text: str, most_bytes: int) -> str:
    """The text, cut so that its JSON is no longer than this; control characters take six bytes there."""
    size = len(msgspec.json.encode(text))
    if size <= most_bytes:
        return text
    note = "\n\n[cut: the rest does not fit into one message]"
    kept = text
    while kept and size > most_bytes - len(note) - 2:
        kept = kept[: min(len(kept) - 1, len(kept) * (most_bytes - len(note) - 2) // size)]
        size = len(msgspec.json.encode(kept))
    return kept + note
