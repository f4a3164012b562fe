"""HTTP headers that repeat parts of a 2026-07-28 message: names, value encoding, `x-mcp-header` annotations.

Client and server read the same rules here. Works on decoded JSON and header pairs; does no I/O and
never follows `$ref`.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeGuard

from limen.errors import HeaderMismatch, ProtocolError

__all__ = [
    "METHOD_HEADER",
    "NAME_HEADER",
    "PARAM_PREFIX",
    "SESSION_HEADER",
    "VERSION_HEADER",
    "HeaderParams",
    "check_declared_headers",
    "check_param_headers",
    "decode_header_value",
    "encode_header_value",
    "header_params",
    "param_headers",
]

VERSION_HEADER: Final = "mcp-protocol-version"
METHOD_HEADER: Final = "mcp-method"
NAME_HEADER: Final = "mcp-name"
SESSION_HEADER: Final = "mcp-session-id"
PARAM_PREFIX: Final = "mcp-param-"

HeaderParams = dict[tuple[str, ...], str]
"""Where each mirrored argument sits (a chain of property names), and the token its header is named by."""

_ANNOTATION: Final = "x-mcp-header"
_ANNOTATED_TYPES: Final = frozenset({"string", "integer", "boolean"})
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PLAIN: Final = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?")
_FIELD_VALUE: Final = re.compile(r"[\x20-\x7e\t]*")
_WRAPPED: Final = re.compile(r"=\?base64\?(.*)\?=", re.DOTALL)
_DECIMAL: Final = re.compile(r"(-?[0-9]{1,40})(?:\.0{1,40})?")

# Keywords that hold schemas. Data keywords (const, enum, default, examples) are left out on purpose:
# an annotation look-alike inside them is a value, not an annotation.
_HOLDS_SCHEMA: Final = frozenset(
    {
        "items",
        "contains",
        "unevaluatedItems",
        "additionalItems",
        "additionalProperties",
        "propertyNames",
        "unevaluatedProperties",
        "not",
        "if",
        "then",
        "else",
        "contentSchema",
    }
)
_HOLDS_SCHEMA_LIST: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
_HOLDS_SCHEMA_MAP: Final = frozenset({"patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"})


def encode_header_value(value: str) -> str:
    """The value as a header may carry it: itself when plain, else wrapped as `=?base64?…?=`."""
    if _PLAIN.fullmatch(value) and not _WRAPPED.fullmatch(value):
        return value
    return f"=?base64?{b64encode(value.encode()).decode()}?="


def decode_header_value(value: str) -> str:
    """The value that `encode_header_value` was given.

    Raises:
        HeaderMismatch: a character no header may hold, or a wrapping that does not decode.
    """
    if not _FIELD_VALUE.fullmatch(value):
        raise HeaderMismatch("header value holds characters that must be base64-wrapped")
    wrapped = _WRAPPED.fullmatch(value)
    if wrapped is None:
        return value
    try:
        data = b64decode(wrapped[1], validate=True)
        # Only the canonical form counts, so that two spellings never stand for one value.
        if b64encode(data).decode() == wrapped[1]:
            return data.decode()
    except ValueError:
        pass
    raise HeaderMismatch("header value is not valid base64 between =?base64? and ?=")


def header_params(input_schema: Any) -> HeaderParams:
    """Which arguments of a tool travel in headers too, from the annotations in its input schema.

    Raises:
        ProtocolError: an annotation that 2026-07-28 does not allow; a client must not offer the tool.
    """
    found: HeaderParams = {}
    taken: set[str] = set()
    for path, schema in _schemas(input_schema):
        if _ANNOTATION not in schema:
            continue
        token = _checked_token(path, schema)
        if token.lower() in taken:
            raise ProtocolError(f"{_ANNOTATION} {token!r} is used twice; header names ignore case", field=_dotted(path))
        taken.add(token.lower())
        found[path or ()] = token
    return found


def _checked_token(path: tuple[str, ...] | None, schema: dict[str, Any]) -> str:
    token, kind, where = schema[_ANNOTATION], schema.get("type"), _dotted(path)
    if not path:
        raise ProtocolError(f"{_ANNOTATION} must sit on a property reached through `properties` alone", field=where)
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise ProtocolError(f"{_ANNOTATION} of {where!r} must be an HTTP token", field=where)
    if not isinstance(kind, str) or kind not in _ANNOTATED_TYPES:
        raise ProtocolError(f"{_ANNOTATION} of {where!r} needs type string, integer or boolean", field=where)
    return token


def _schemas(root: Any) -> Iterator[tuple[tuple[str, ...] | None, dict[str, Any]]]:
    """Every schema inside `root` with its chain of properties, None once anything else was crossed."""
    # A stack instead of recursion: depth is the sender's choice.
    stack: list[tuple[tuple[str, ...] | None, Any]] = [((), root)]
    while stack:
        path, node = stack.pop()
        if not _is_object(node):
            continue
        yield path, node
        for keyword, value in node.items():
            if keyword == "properties" and _is_object(value):
                stack += [(None if path is None else (*path, name), schema) for name, schema in value.items()]
            elif keyword in _HOLDS_SCHEMA_LIST and _is_list(value):
                stack += [(None, schema) for schema in value]
            elif keyword in _HOLDS_SCHEMA:
                stack.append((None, value))
            elif keyword in _HOLDS_SCHEMA_MAP and _is_object(value):
                stack += [(None, schema) for schema in value.values()]


def param_headers(declared: Mapping[tuple[str, ...], str], arguments: Any) -> dict[str, str]:
    """The `Mcp-Param-*` headers a client sends with these arguments."""
    headers: dict[str, str] = {}
    for path, token in declared.items():
        text = _rendered(_value_at(arguments, path))
        if text is not None:
            headers[PARAM_PREFIX + token] = encode_header_value(text)
    return headers


def check_param_headers(input_schema: Any, arguments: Any, headers: Iterable[tuple[str, str]]) -> None:
    """Compare the `Mcp-Param-*` headers of a `tools/call` with its arguments.

    `headers` are the pairs as they came, so that a repeated header can be seen. A schema whose
    annotations are invalid declares nothing: no conforming client would have sent a header for it.

    Raises:
        HeaderMismatch: they disagree.
    """
    try:
        declared = header_params(input_schema)
    except ProtocolError:
        return
    check_declared_headers(declared, arguments, headers)


def check_declared_headers(
    declared: Mapping[tuple[str, ...], str], arguments: Any, headers: Iterable[tuple[str, str]]
) -> None:
    """The same for annotations read once by `header_params` and kept.

    Raises:
        HeaderMismatch: they disagree.
    """
    if not declared:
        return
    sent: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        if not key.startswith(PARAM_PREFIX):
            continue
        if key in sent:
            raise HeaderMismatch(f"{name} is sent more than once", header=name)
        sent[key] = value
    for path, token in declared.items():
        _check_one(token, _dotted(path), _value_at(arguments, path), sent.get(PARAM_PREFIX + token.lower()))


def _check_one(token: str, argument: str, value: Any, header: str | None) -> None:
    name, text = f"Mcp-Param-{token}", _rendered(value)
    if header is None:
        if text is None:
            return
        raise HeaderMismatch(f"{name} is missing; it must repeat argument {argument!r}", header=name)
    if text is None:
        raise HeaderMismatch(f"{name} is sent without argument {argument!r}", header=name)
    if not _same(value, text, decode_header_value(header)):
        raise HeaderMismatch(f"{name} does not match argument {argument!r}", header=name)


def _same(value: Any, text: str, header: str) -> bool:
    decimal = _DECIMAL.fullmatch(header)
    if decimal and _is_integral(value):
        return int(decimal[1]) == int(value)
    return header == text


def _is_integral(value: Any) -> bool:
    return not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))


def _rendered(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    # Past 64 bits a JSON integer has no rendering two peers would agree on.
    if isinstance(value, int | float) and abs(value) < 2**64:
        return str(int(value)) if _is_integral(value) else str(value)
    return None


def _value_at(arguments: Any, path: tuple[str, ...]) -> Any:
    node = arguments
    for name in path:
        if not _is_object(node):
            return None
        node = node.get(name)
    return node


def _dotted(path: tuple[str, ...] | None) -> str:
    return ".".join(path) if path else "inputSchema"


def _is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)
