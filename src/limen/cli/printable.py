"""Makes text from outside safe to show on a terminal: what would move the cursor or hide becomes visible."""

__all__ = ["printable"]

# Printable by Unicode's tables, and yet nothing is seen of them: fillers, joiners, variation selectors.
_UNSEEN = frozenset(
    map(
        chr,
        (
            0x034F,
            0x115F,
            0x1160,
            0x17B4,
            0x17B5,
            0x2800,
            0x3164,
            0xFFA0,
            *range(0xFE00, 0xFE10),
            *range(0xE0100, 0xE01F0),
        ),
    )
)
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def printable(text: str) -> str:
    """The text in one line, with control, bidirectional, zero-width and other unseen characters escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char.isprintable() and char not in _UNSEEN else _escape(char) for char in text)


def _escape(char: str) -> str:
    short = _SHORT.get(char)
    if short is not None:
        return short
    point = ord(char)
    if point <= 0xFF:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"
