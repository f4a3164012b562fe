"""Tells the shapes of parsed JSON apart, so that the type checker knows them as well."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

__all__ = ["is_array", "is_object", "items_of", "object_of"]


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """A JSON object."""
    return isinstance(value, Mapping)


def is_array(value: object) -> TypeGuard[Sequence[Any]]:
    """A JSON array."""
    return isinstance(value, (list, tuple))


def object_of(value: object) -> Mapping[str, Any]:
    """The JSON object that this is; an empty one for anything else."""
    return value if is_object(value) else {}


def items_of(value: object) -> Sequence[Any]:
    """The items of a JSON array; none for anything else."""
    return value if is_array(value) else ()
