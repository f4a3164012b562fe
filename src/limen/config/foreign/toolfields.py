"""Readers for the fields of other programs' entries that choose among a server's tools."""

from collections.abc import Mapping

from limen.config.foreign.fields import Draft, as_flag, as_text
from limen.shapes import is_array, is_object

__all__ = ["take_only_tools", "take_tools", "take_without_tools"]


def take_only_tools(draft: Draft, key: str, value: object) -> None:
    """The names of the tools that are shown; `*` stands for all."""
    names = [name for item in value if (name := as_text(item))] if is_array(value) else None
    if names is None:
        draft.bad(key, "a list of tools")
    elif names and "*" not in names:
        draft.fields["tools"] = [{"name": name} for name in dict.fromkeys(names)]


def take_without_tools(draft: Draft, key: str, value: object) -> None:
    """The names of the tools that are hidden."""
    if is_array(value):
        draft.excluded += tuple(name for item in value if (name := as_text(item)))
    else:
        draft.bad(key, "a list of tools")


def take_tools(draft: Draft, key: str, value: object) -> None:
    """A list of names, or of tables that Limen has as well."""
    if is_array(value) and value and all(is_object(item) for item in value):
        tools = [_tool(draft, item) for item in value]
        draft.fields["tools"] = [tool for tool in tools if tool is not None]
    else:
        take_only_tools(draft, key, value)


def _tool(draft: Draft, item: Mapping[str, object]) -> dict[str, object] | None:
    name = as_text(item.get("name"))
    if not name:
        draft.note("a tool without a name is left out")
        return None
    tool: dict[str, object] = {"name": name}
    alias = as_text(item.get("alias"))
    if alias and alias != name:
        tool["alias"] = alias
    tags = item.get("tags")
    if is_array(tags):
        tool["tags"] = [text for tag in tags if (text := as_text(tag))]
    if "enabled" in item and as_flag(item["enabled"]) is not True:
        tool["enabled"] = False
    for key in sorted(item.keys() - {"name", "alias", "tags", "enabled", "description"}):
        draft.note(f"`{key}` of the tool `{name}` is left out: Limen takes it from the server")
    return tool
