"""How one object is told by another: git's delta format, written for small edits of big folders and documents."""

from collections.abc import Iterable

from limen.brain.git.objects import Tree

__all__ = ["splice_delta", "tree_delta"]

_MOST_COPIED = 0xFFFFFF
_MOST_INSERTED = 127


def splice_delta(base: bytes, target: bytes) -> bytes:
    """Tell a text by an earlier one of which it keeps the beginning and the end."""
    head = _common_head(base, target)
    tail = _common_tail(base[head:], target[head:])
    out = bytearray(_varint(len(base)) + _varint(len(target)))
    _copy(out, 0, head)
    _insert(out, target[head : len(target) - tail])
    _copy(out, len(base) - tail, tail)
    return bytes(out)


def tree_delta(base: Tree, target: Tree, touched: Iterable[bytes]) -> bytes:
    """Tell a folder by an earlier version of it; `touched` holds the sort keys of every entry that may differ."""
    out = bytearray(_varint(base.size) + _varint(target.size))
    done = 0
    inserted = b""
    for key in sorted(touched):
        begin, end = base.place(key)
        if begin > done:
            _insert(out, inserted)
            inserted = b""
            _copy(out, done, begin - done)
        inserted += target.row(key) or b""
        done = end
    _insert(out, inserted)
    _copy(out, done, base.size - done)
    return bytes(out)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _copy(out: bytearray, start: int, size: int) -> None:
    while size > 0:
        part = min(size, _MOST_COPIED)
        op, operands = 128, bytearray()
        # Each byte of offset and size that is zero is left out; the bits of the operation say which are there.
        for bit, byte in enumerate(start.to_bytes(4, "little") + part.to_bytes(3, "little")):
            if byte:
                op |= 1 << bit
                operands.append(byte)
        # A size without any byte would mean 64 KiB; no other size has none.
        out.append(op)
        out += operands
        start, size = start + part, size - part


def _insert(out: bytearray, data: bytes) -> None:
    for at in range(0, len(data), _MOST_INSERTED):
        part = data[at : at + _MOST_INSERTED]
        out.append(len(part))
        out += part


def _common_head(one: bytes, other: bytes) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_tail(one: bytes, other: bytes) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low
