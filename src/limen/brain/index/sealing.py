"""A checksum around everything an index keeps, bound to its place, so that what comes back is what went in.

The pages of the database have checksums too, but pages that are read from its log are not checked by them.
"""

import zlib
from typing import TypeVar

import msgspec

__all__ = ["open_sealed", "open_value", "seal", "seal_value"]

_SEAL_BYTES = 4
_Value = TypeVar("_Value")
_encoder = msgspec.msgpack.Encoder()


def seal(place: int, data: bytes) -> bytes:
    """Bytes to keep at this place."""
    return _checksum(place, data) + data


def open_sealed(place: int, kept: object) -> memoryview:
    """What was sealed for this place.

    Raises:
        ValueError: it is something else.
    """
    # A page of another table may have come into its place, and then it is not even bytes.
    if not isinstance(kept, bytes) or kept[:_SEAL_BYTES] != _checksum(place, data := memoryview(kept)[_SEAL_BYTES:]):
        raise ValueError("something kept in the index is not what was kept")
    return data


def seal_value(place: int, value: object) -> bytes:
    """A value to keep at this place."""
    return seal(place, _encoder.encode(value))


def open_value(place: int, kept: object, decoder: "msgspec.msgpack.Decoder[_Value]") -> _Value:
    """The value that was sealed for this place.

    Raises:
        ValueError: it is something else.
    """
    return decoder.decode(open_sealed(place, kept))


def _checksum(place: int, data: bytes | memoryview) -> bytes:
    return zlib.crc32(data, place & 0xFFFFFFFF).to_bytes(_SEAL_BYTES, "little")
