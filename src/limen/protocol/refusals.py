"""Turns a failure into the JSON-RPC error that the revision spoken wants to see."""

from typing import Final

import msgspec

from limen.errors import LimenError, RemoteError, face_of
from limen.protocol.frames import RequestId, encode_error
from limen.protocol.versions import SESSION_REVISION, STATELESS_REVISION, Revision

__all__ = ["refusal", "rpc_code"]

_OF_REVISION: Final[dict[tuple[str, str], int]] = {
    (SESSION_REVISION, "unsupported_version"): -32602,
    (STATELESS_REVISION, "resource_not_found"): -32602,
}


def rpc_code(error: LimenError, revision: Revision) -> int:
    """The JSON-RPC code of a failure in a revision."""
    if isinstance(error, RemoteError):
        return error.rpc_code
    return _OF_REVISION.get((revision, error.code)) or face_of(error).rpc


def refusal(message_id: RequestId | None, error: LimenError, revision: Revision = SESSION_REVISION) -> bytes:
    """The error frame for a failure; `data.code` is Limen's own stable code, the facts stand beside it."""
    if isinstance(error, RemoteError):
        return encode_error(message_id, error.rpc_code, str(error), error.data)
    data = msgspec.json.encode({**error.facts, "code": error.code}, enc_hook=str)
    return encode_error(message_id, rpc_code(error, revision), str(error), data)
