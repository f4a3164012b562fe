"""What a stateless server asks before it goes on: the shape of `input_required`, read and nothing more."""

import msgspec
from msgspec import UNSET, UnsetType

from limen.protocol.frames import EMPTY_PARAMS
from limen.protocol.methods import NAMED_BY

__all__ = ["Asked", "Round", "read_round"]


class Asked(msgspec.Struct):
    """One question of a round."""

    method: str
    params: msgspec.Raw = msgspec.Raw(EMPTY_PARAMS)


class Round(msgspec.Struct, rename="camel"):
    """A result that may be a question."""

    result_type: str = "complete"
    input_requests: dict[str, Asked] | None = None
    request_state: msgspec.Raw | UnsetType = UNSET


_decode_round = msgspec.json.Decoder(Round).decode


def read_round(method: str, result: bytes) -> Round | None:
    """What the server asks; None when the result is one."""
    if method not in NAMED_BY or b'"input_required"' not in result:
        return None
    turn = _decode_round(result)
    return turn if turn.result_type == "input_required" else None
