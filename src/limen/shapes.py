"""Tells the shapes of parsed JSON apart, so that the type checker knows them as well."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

__all__ = ["is_array", "is_object"]


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """A JSON object."""
    return isinstance(value, Mapping)


def is_array(value: object) -> TypeGuard[Sequence[Any]]:
    """A JSON array."""
    return isinstance(value, (list, tuple))
