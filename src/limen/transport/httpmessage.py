"""What an outgoing frame says about itself, and the HTTP headers that follow from it. Sends nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from limen.errors import ProtocolError
from limen.protocol.frames import RequestId
from limen.protocol.headers import METHOD_HEADER, NAME_HEADER, VERSION_HEADER, encode_header_value
from limen.protocol.methods import NAMED_BY
from limen.protocol.versions import META_VERSION

__all__ = ["CANCELLED", "Mirror", "Outgoing", "is_reply_to", "read_outgoing"]

Mirror = Callable[[str, bytes], Mapping[str, str]]
"""The `Mcp-Param-*` headers for a call: tool name and raw params in, headers out."""

CANCELLED: Final = "notifications/cancelled"


class _Envelope(msgspec.Struct):
    id: RequestId | None = None
    method: str | None = None
    params: msgspec.Raw = msgspec.Raw(b"{}")


class _Meta(msgspec.Struct, rename={"version": META_VERSION}):
    version: Any = None


class _Params(msgspec.Struct, rename={"meta": "_meta", "request_id": "requestId"}):
    meta: _Meta | None = None
    name: Any = None
    uri: Any = None
    request_id: Any = None


class _Arrived(msgspec.Struct):
    id: Any = None
    method: Any = None


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_params = msgspec.json.Decoder(_Params).decode
_decode_arrived = msgspec.json.Decoder(_Arrived).decode


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One frame on its way out; `version` is set when it names its own revision, as stateless requests do."""

    id: RequestId | None
    method: str | None
    params: bytes
    version: str | None
    target: str | None
    withdraws: RequestId | None

    @property
    def is_request(self) -> bool:
        """Whether an answer is due."""
        return self.method is not None and self.id is not None

    def headers(self, mirror: Mirror | None) -> dict[str, str]:
        """The headers a stateless message carries; none for the others."""
        if self.version is None or self.method is None:
            return {}
        headers = {VERSION_HEADER: self.version, METHOD_HEADER: self.method}
        if self.target is not None:
            headers[NAME_HEADER] = encode_header_value(self.target)
            if mirror is not None and self.method == "tools/call":
                headers.update(mirror(self.target, self.params))
        return headers


def read_outgoing(frame: bytes) -> Outgoing:
    """Look into a frame that is about to be sent.

    Raises:
        ProtocolError: it is no JSON-RPC message.
    """
    try:
        envelope = _decode_envelope(frame)
        params = _decode_params(envelope.params)
    except msgspec.DecodeError as error:
        raise ProtocolError(f"not a JSON-RPC message: {error}", field="") from error
    version: Any = params.meta.version if params.meta is not None else None
    target: Any = {"name": params.name, "uri": params.uri}.get(NAMED_BY.get(envelope.method or "", ""))
    withdraws: Any = params.request_id if envelope.method == CANCELLED else None
    return Outgoing(
        id=envelope.id,
        method=envelope.method,
        params=bytes(envelope.params),
        version=version if isinstance(version, str) else None,
        target=target if isinstance(target, str) else None,
        withdraws=withdraws if isinstance(withdraws, int | str) else None,
    )


def is_reply_to(frame: bytes, request_id: RequestId) -> bool:
    """Whether an arriving frame answers this request; one that cannot be read answers nothing."""
    try:
        arrived = _decode_arrived(frame)
    except msgspec.DecodeError:
        return False
    return arrived.method is None and arrived.id == request_id
