"""The params an upstream gets: what the caller sent, under the upstream's own names, without what was only for us."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from limen.calls.call import Call, Exchange
from limen.protocol.versions import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_VERSION,
    STATELESS_REVISION,
)

__all__ = ["client_capabilities", "envelope", "outgoing"]

_OWN_META: Final = frozenset(
    {META_VERSION, META_CLIENT_INFO, META_CLIENT_CAPABILITIES, META_LOG_LEVEL, "progressToken"}
)
"""What a caller says to us about itself and its request; an upstream hears ours instead."""
_OWN_FIELDS: Final = frozenset({"_meta", "name", "uri", "arguments", "ref", "inputResponses", "requestState", "task"})
"""What is said in other words to an upstream, or was meant for us: nobody here could fetch a task it began."""

_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.encode


def outgoing(call: Call, own: Mapping[str, object], meta: Mapping[str, object]) -> bytes:
    """The params of a call: `own` are its fields under the upstream's names, `meta` what is said about it."""
    params = call.params
    has_more = b'"_meta"' in params or len(params) > len(call.arguments) + len(call.name) + 40
    if not has_more and not meta:
        return _encode(own)
    fields: dict[str, Any] = dict(own)
    said: dict[str, Any] = dict(meta)
    if has_more:
        # Something else was sent along: what we do not know is not ours to drop.
        sent = _decode_fields(params)
        fields |= {key: value for key, value in sent.items() if key not in _OWN_FIELDS}
        if "_meta" in sent:
            said |= {key: value for key, value in _decode_fields(sent["_meta"]).items() if key not in _OWN_META}
    if said:
        fields["_meta"] = said
    return _encode(fields)


def envelope(exchange: Exchange, info: Mapping[str, str]) -> dict[str, object]:
    """What a stateless upstream is told with every request: who asks, and what may be asked of the caller."""
    said: dict[str, object] = {
        META_VERSION: STATELESS_REVISION,
        META_CLIENT_INFO: info,
        META_CLIENT_CAPABILITIES: client_capabilities(exchange),
    }
    if exchange.log_level is not None:
        said[META_LOG_LEVEL] = exchange.log_level
    return said


def client_capabilities(exchange: Exchange) -> dict[str, Any]:
    """What may be asked at this call; roots can always be told from the settings."""
    found: dict[str, Any] = {"roots": {}}
    if exchange.supports("sampling"):
        found["sampling"] = {}
    modes: dict[str, Any] = {mode: {} for mode in ("form", "url") if exchange.supports(f"elicitation.{mode}")}
    if modes:
        found["elicitation"] = modes
    return found
