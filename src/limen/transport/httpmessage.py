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

__all__ = ["Incoming", "Mirror", "Outgoing", "read_incoming", "read_outgoing"]

Mirror = Callable[[str, bytes], Mapping[str, str]]
"""The `Mcp-Param-*` headers for a call: tool name and raw params in, headers out."""

CANCELLED: Final = "notifications/cancelled"


class _Envelope(msgspec.Struct):
    id: RequestId | None = None
    method: str | None = None
    params: msgspec.Raw = msgspec.Raw(b"{}")


class _Params(msgspec.Struct, rename={"meta": "_meta", "request_id": "requestId"}):
    meta: Any = None
    name: Any = None
    uri: Any = None
    request_id: Any = None


class Incoming(msgspec.Struct, frozen=True):
    """As much of an arriving frame as tells whether it is the awaited reply."""

    id: Any = None
    method: Any = None


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_params = msgspec.json.Decoder(_Params).decode
_decode_incoming = msgspec.json.Decoder(Incoming).decode


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
    version = params.meta.get(META_VERSION) if isinstance(params.meta, dict) else None
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


def read_incoming(frame: bytes) -> Incoming:
    """Look into a frame that has arrived; one that cannot be read is nobody's reply."""
    try:
        return _decode_incoming(frame)
    except msgspec.DecodeError:
        return Incoming()
