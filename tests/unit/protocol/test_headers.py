"""Headers that repeat a message: values survive any text, annotations obey the rules, disagreement is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.errors import HeaderMismatch, ProtocolError
from limen.protocol.headers import (
    check_param_headers,
    decode_header_value,
    encode_header_value,
    header_params,
    param_headers,
)


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def marked(token: object = "Region", kind: object = "string") -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": token}


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives_the_header(value: str) -> None:
    encoded = encode_header_value(value)
    assert encoded.isascii()
    assert encoded == encoded.strip()
    assert not set(encoded) & set("\r\n\0")
    assert decode_header_value(encoded) == value


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        ("us-west1", "us-west1"),
        ("a b", "a b"),
        ("", ""),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ],
)
def test_values_are_encoded_as_the_specification_shows(value: str, encoded: str) -> None:
    assert encode_header_value(value) == encoded


@pytest.mark.parametrize("value", ["=?base64?***?=", "=?base64?YR==?=", "=?base64?/w==?=", "caf\xe9", "a\x00b"])
def test_a_value_that_cannot_be_decoded_is_refused(value: str) -> None:
    with pytest.raises(HeaderMismatch):
        decode_header_value(value)


def test_annotations_are_found_at_any_depth_of_properties() -> None:
    schema = an_object(
        region=marked("Region"), options=an_object(limit=marked("Limit", "integer")), plain={"type": "string"}
    )
    assert header_params(schema) == {("region",): "Region", ("options", "limit"): "Limit"}


def test_a_property_named_like_the_annotation_is_no_annotation() -> None:
    assert header_params(an_object(**{"x-mcp-header": {"type": "array"}})) == {}


@pytest.mark.parametrize("data_keyword", ["default", "const", "examples", "enum"])
def test_data_that_looks_like_an_annotation_is_no_annotation(data_keyword: str) -> None:
    assert header_params(an_object(a={"type": "object", data_keyword: [marked()], "default": marked()})) == {}


@pytest.mark.parametrize(
    "schema",
    [
        marked(),
        an_object(a=marked("")),
        an_object(a=marked("two words")),
        an_object(a=marked("a\r\nb")),
        an_object(a=marked("naïve")),
        an_object(a=marked(7)),
        an_object(a=marked(kind="number")),
        an_object(a=marked(kind="object")),
        an_object(a=marked(kind=["string", "null"])),
        an_object(a={"x-mcp-header": "NoType"}),
        an_object(a=marked("Region"), b=marked("REGION")),
        an_object(a={"type": "array", "items": marked()}),
        an_object(a={"anyOf": [marked()]}),
        an_object(a={"not": an_object(b=marked())}),
        {"allOf": [an_object(a=marked())]},
        {"if": an_object(a=marked())},
        {"$defs": {"x": an_object(a=marked())}},
        {"patternProperties": {"^a": marked()}},
        {"additionalProperties": marked()},
        {"items": [marked()]},
    ],
)
def test_an_annotation_out_of_place_makes_the_tool_invalid(schema: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError):
        header_params(schema)


@pytest.mark.parametrize("schema", [None, True, [], "x", {}, {"properties": []}])
def test_a_schema_without_properties_declares_nothing(schema: object) -> None:
    assert header_params(schema) == {}


SCHEMA = an_object(
    region=marked("Region"),
    deep=an_object(count=marked("Count", "integer")),
    dry=marked("Dry", "boolean"),
)
ARGUMENTS = {"region": "eu", "deep": {"count": 42}, "dry": True}
HEADERS = {"mcp-param-Region": "eu", "mcp-param-Count": "42", "mcp-param-Dry": "true"}


def test_a_client_repeats_annotated_arguments_and_leaves_out_absent_ones() -> None:
    declared = header_params(SCHEMA)
    assert param_headers(declared, ARGUMENTS) == HEADERS
    assert param_headers(declared, {"region": None, "deep": "no object"}) == {}
    assert param_headers(declared, {"region": "ü", "dry": False}) == {
        "mcp-param-Region": "=?base64?w7w=?=",
        "mcp-param-Dry": "false",
    }


scalars = st.text(st.characters(exclude_categories=["Cs"])) | st.integers(-(2**53), 2**53) | st.booleans() | st.none()


@given(region=scalars, count=scalars, dry=scalars)
def test_what_a_client_repeats_is_what_a_server_accepts(region: object, count: object, dry: object) -> None:
    arguments = {"region": region, "deep": {"count": count}, "dry": dry}
    check_param_headers(SCHEMA, arguments, param_headers(header_params(SCHEMA), arguments).items())


@pytest.mark.parametrize("count", ["42", "42.0", "042"])
def test_integers_are_compared_as_numbers(count: str) -> None:
    check_param_headers(SCHEMA, ARGUMENTS, {**HEADERS, "mcp-param-Count": count}.items())


@pytest.mark.parametrize(
    "changed",
    [
        {"mcp-param-Region": "us"},
        {"mcp-param-Region": "EU"},
        {"mcp-param-Region": "=?base64?dXM=?="},
        {"mcp-param-Region": "=?base64?!?="},
        {"mcp-param-Region": "e\x00u"},
        {"mcp-param-Count": "43"},
        {"mcp-param-Count": "42.5"},
        {"mcp-param-Count": "4.2e1"},
        {"mcp-param-Dry": "True"},
        {"mcp-param-Dry": "1"},
    ],
)
def test_a_header_that_differs_from_its_argument_is_refused(changed: dict[str, str]) -> None:
    with pytest.raises(HeaderMismatch):
        check_param_headers(SCHEMA, ARGUMENTS, {**HEADERS, **changed}.items())


def test_a_missing_header_is_refused() -> None:
    with pytest.raises(HeaderMismatch):
        check_param_headers(SCHEMA, ARGUMENTS, [])


def test_a_header_without_its_argument_is_refused() -> None:
    with pytest.raises(HeaderMismatch):
        check_param_headers(SCHEMA, {"region": None}, [("Mcp-Param-Region", "eu")])


def test_a_repeated_header_is_refused_even_when_both_agree() -> None:
    with pytest.raises(HeaderMismatch):
        check_param_headers(SCHEMA, ARGUMENTS, [*HEADERS.items(), ("MCP-PARAM-REGION", "eu")])


def test_names_ignore_case_and_undeclared_headers_are_ignored() -> None:
    shouted = [(name.upper(), value) for name, value in HEADERS.items()]
    check_param_headers(SCHEMA, ARGUMENTS, [*shouted, ("Mcp-Param-Other", "x"), ("Host", "h")])


def test_a_schema_with_invalid_annotations_declares_nothing_to_check() -> None:
    check_param_headers(an_object(a=marked(kind="number")), {"a": 1}, [])
