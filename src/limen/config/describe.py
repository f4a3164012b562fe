"""Lists every setting of the model for the generated reference: its path, what may be written, default, meaning."""

from collections.abc import Iterator

from msgspec import NODEFAULT, Struct, inspect, json

from limen.config.model import Settings
from limen.config.shapes import Shape, bare, describe_shape, description

__all__ = ["Setting", "describe"]


class Setting(Struct, frozen=True):
    """One setting. `default` is plain data; None when nothing is set, and when `is_required`."""

    path: str
    type: str
    default: object
    description: str
    is_required: bool = False


def describe() -> list[Setting]:
    """Every setting in the order of the model; `<name>` and `[]` stand for the members of a mapping and a list."""
    return list(_members(inspect.type_info(Settings), ""))


def _members(shape: Shape, path: str) -> Iterator[Setting]:
    inner = bare(shape)
    if not isinstance(inner, inspect.StructType):
        return
    for item in inner.fields:
        place = f"{path}{item.encode_name}"
        member = bare(item.type)
        if not isinstance(member, inspect.StructType):
            yield Setting(
                path=place,
                type=describe_shape(item.type),
                default=_default(item),
                description=description(item.type),
                is_required=item.required,
            )
        match member:
            case inspect.StructType():
                yield from _members(member, f"{place}.")
            case inspect.DictType():
                yield from _members(member.value_type, f"{place}.<name>.")
            case inspect.VarTupleType():
                yield from _members(member.item_type, f"{place}[].")
            case _:
                pass


def _default(item: inspect.Field) -> object:
    if item.default is not NODEFAULT:
        value: object = item.default
    else:
        value = None if item.default_factory is NODEFAULT else item.default_factory()
    # A round trip through JSON turns tuples into lists, as they are written.
    return json.decode(json.encode(value))
