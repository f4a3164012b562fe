"""Names for servers that come from elsewhere: made to fit, and kept apart."""

import re

from limen.config.entries import is_server_name

__all__ = ["fit_name"]

_MOST = 48


def fit_name(text: str) -> str:
    """The name itself when a server may have it, else the nearest one that it may have."""
    if is_server_name(text):
        return text
    words = re.sub(r"[^A-Za-z0-9_]+", "-", text)
    words = re.sub(r"_{2,}", "_", words).strip("-_")[:_MOST].strip("-_")
    return words if is_server_name(words) else "server"
