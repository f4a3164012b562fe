"""URI templates: what was expanded is found again, and no template or URI, however hostile, does harm."""

from dataclasses import dataclass
from urllib.parse import quote, unquote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from limen.protocol.uritemplates import match
from tests.requirements import requirement

LEADS = {"": "", "+": "", "#": "#", ".": ".", "/": "/", ";": ";", "?": "?", "&": "&"}
JOINTS = {"": ",", "+": ",", "#": ",", ".": ".", "/": "/", ";": ";", "?": "&", "&": "&"}
RESERVED = ":/?#[]@!$&'()*+,;="

values = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@dataclass(frozen=True, slots=True)
class Expression:
    """One `{…}` of a template, and the values it is expanded with."""

    operator: str
    given: dict[str, str]

    @property
    def text(self) -> str:
        return "{" + self.operator + ",".join(self.given) + "}"

    @property
    def expanded(self) -> str:
        safe = RESERVED if self.operator in ("+", "#") else ""
        named = self.operator in (";", "?", "&")
        items = [(f"{name}=" if named else "") + quote(value, safe=safe) for name, value in self.given.items()]
        return LEADS[self.operator] + JOINTS[self.operator].join(items)


def expressions(*operators: str) -> st.SearchStrategy[list[Expression]]:
    """Some expressions, each with names of its own."""
    sizes = st.lists(st.tuples(st.sampled_from(operators), st.integers(1, 3)), min_size=1, max_size=3)

    def fill(shape: list[tuple[str, int]]) -> st.SearchStrategy[list[Expression]]:
        filled = [
            st.lists(values, min_size=size, max_size=size).map(
                lambda drawn, place=place, operator=operator: Expression(
                    operator, {f"v{place}_{index}": value for index, value in enumerate(drawn)}
                )
            )
            for place, (operator, size) in enumerate(shape)
        ]
        return st.tuples(*filled).map(list)

    return sizes.flatmap(fill)


def spell(parts: list[Expression]) -> tuple[str, str, dict[str, str]]:
    """A template, the URI it expands to, and the values."""
    template = "x://host" + "".join("/" + part.text for part in parts)
    uri = "x://host" + "".join("/" + part.expanded for part in parts)
    return template, uri, {name: value for part in parts for name, value in part.given.items()}


@requirement("wire.uri-templates")
@given(expressions("", ";"))
def test_what_was_expanded_is_found_again(parts: list[Expression]) -> None:
    template, uri, expected = spell(parts)
    assert match(template, uri) == expected


@requirement("wire.uri-templates")
@given(expressions("", "."), expressions("?"))
def test_query_variables_are_found_beside_those_of_the_path(path: list[Expression], query: list[Expression]) -> None:
    template, uri, _ = spell(path)
    found = match(template + query[0].text, uri + query[0].expanded)
    assert found is not None
    assert query[0].given.items() <= found.items()


@requirement("wire.uri-templates")
@given(expressions("", ".", "/", ";", "+"))
def test_where_several_readings_are_possible_the_one_found_expands_to_the_same_uri(parts: list[Expression]) -> None:
    # `{+a}` may hold what separates it from its neighbour, so the values may differ, but never the URI.
    template, uri, expected = spell(parts)
    assume("?" not in uri and "#" not in uri)
    found = match(template, uri)
    assert found is not None
    assert found.keys() == expected.keys()
    _, again, _ = spell([Expression(part.operator, {name: found[name] for name in part.given}) for part in parts])
    assert unquote(again) == unquote(uri)


@requirement("wire.uri-templates")
@given(
    st.dictionaries(st.sampled_from(["a", "b", "c"]), values, max_size=3).flatmap(
        lambda d: st.permutations(list(d.items()))
    )
)
def test_query_variables_are_optional_and_come_in_any_order(pairs: list[tuple[str, str]]) -> None:
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in pairs)
    assert match("x://find{?a,b,c}", "x://find" + ("?" + query if query else "")) == dict(pairs)


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_template_and_no_uri_ever_raise(template: str, uri: str) -> None:
    match(template, uri)
    match(template, template)


@given(
    st.lists(
        st.sampled_from(["{a}", "{+a}", "{?a}", "{&a}", "{#a}", "{;a*}", "{,}", "{", "}", "/", "?", "&", "x", "%"])
    )
)
def test_no_odd_arrangement_of_expressions_ever_raises(pieces: list[str]) -> None:
    template = "".join(pieces)
    for uri in ("", "x", template, "x/x?a=1&a=2#x", "%", "%zz%ff"):
        match(template, uri)


@pytest.mark.parametrize(
    ("template", "uri", "expected"),
    [
        ("x://a", "x://a", {}),
        ("x://a", "x://b", None),
        ("x://a", "x://a/", None),
        ("x://{id}", "x://", None),
        ("x://{id}", "x://7", {"id": "7"}),
        ("x://{id}", "x://7/8", None),
        ("x://{+id}", "x://7/8", {"id": "7/8"}),
        ("x://{id}/data", "x://7/data", {"id": "7"}),
        ("x://{id}/data", "x://7/other", None),
        ("x://{a}b{c}", "x://bbb", {"a": "b", "c": "b"}),
        ("x://{a}/{a}", "x://1/1", {"a": "1"}),
        ("x://{a}/{a}", "x://1/2", None),
        ("x://{id}", "x://%C3%A9%2F", {"id": "é/"}),
        ("x://f{.ext}", "x://f.tar", {"ext": "tar"}),
        ("x://a{/b,c}", "x://a/1/2", {"b": "1", "c": "2"}),
        ("x://a{;b,c}", "x://a;b=1;c=2", {"b": "1", "c": "2"}),
        ("x://a{#b}", "x://a#top", {"b": "top"}),
        ("x://a{?b}", "x://a", {}),
        ("x://a{?b}", "x://a?", {}),
        ("x://a{?b}", "x://a?b=", {"b": ""}),
        ("x://a{?b}", "x://a?b=1+2%2B3", {"b": "1 2+3"}),
        ("x://a{?b}", "x://a?c=1", None),
        ("x://a{?b}", "x://a?b=1&b=2", None),
        ("x://a{?b}", "x://a?b=1&c=2", None),
        ("x://a?fixed=1{&b}", "x://a?fixed=1&b=2", {"b": "2"}),
        ("x://a?fixed=1{&b}", "x://a?fixed=1", {}),
        ("x://a?fixed=1{&b}", "x://a?fixed=2&b=2", None),
        ("x://a?id={id}", "x://a?id=7", {"id": "7"}),
        ("{a}", "X", {"a": "X"}),
        ("", "", {}),
        ("", "x", None),
        ("{", "{", {}),
        ("{a:3}", "{a:3}", {}),
    ],
)
def test_templates_match_what_they_expand_to_and_nothing_else(
    template: str, uri: str, expected: dict[str, str] | None
) -> None:
    assert match(template, uri) == expected


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("{+a}" * 20 + "!", "x" * 8000),
        ("{a}" * 20 + "!", "x" * 8000),
        ("{+a}x{+b}x{+c}x{+d}x{+e}x{+f}!", "x" * 8000),
        ("{a}" * 5000, "x" * 5000),
        ("x://{+a}", "x://" + "a" * 2_000_000),
        ("{?" + ",".join(f"v{n}" for n in range(5000)) + "}", "?" + "&".join(f"v{n}=1" for n in range(900))),
    ],
)
def test_hostile_templates_and_uris_do_not_hold_up_anybody(template: str, uri: str) -> None:
    # No clock is looked at: what backtracks here runs into the suite's own time-out.
    match(template, uri)
