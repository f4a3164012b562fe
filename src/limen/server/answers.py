"""The last line of defence: whatever a request leads to, its sender gets one well-formed reply."""

import logging
from collections.abc import Awaitable
from typing import NamedTuple

from limen.errors import LimenError
from limen.protocol.codes import INTERNAL_ERROR
from limen.protocol.frames import Request, encode_error, encode_reply
from limen.protocol.refusals import refusal, rpc_code
from limen.protocol.versions import Revision

__all__ = ["Settled", "refuse", "settle"]

log = logging.getLogger(__name__)


class Settled(NamedTuple):
    """A reply frame, and the JSON-RPC error code in it (0 for a result), which decides the HTTP status."""

    frame: bytes
    code: int = 0


async def settle(result: Awaitable[bytes], request: Request, revision: Revision) -> Settled:
    """Await a result and frame it, whatever comes."""
    try:
        return Settled(encode_reply(request.id, await result))
    except Exception as error:  # noqa: BLE001 - the dispatcher's last line
        return refuse(error, request, revision)


def refuse(error: Exception, request: Request, revision: Revision) -> Settled:
    """Frame a failure; a bug is logged here, and the frame gives nothing of it away."""
    if isinstance(error, LimenError):
        return Settled(refusal(request.id, error, revision), rpc_code(error, revision))
    log.error("request failed", extra={"method": request.method}, exc_info=error)
    message = "internal error; the hub's log has the details"
    return Settled(encode_error(request.id, INTERNAL_ERROR, message), INTERNAL_ERROR)
