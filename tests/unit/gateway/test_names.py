"""Names clients see: short enough, the same each time, and never two things under one."""

import re

from hypothesis import given
from hypothesis import strategies as st

from limen.gateway.names import LONGEST, exposed_name, exposed_uri, server_of
from tests.requirements import requirement

SERVERS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9-]{0,20}(_[A-Za-z0-9-]{1,20})?", fullmatch=True)
TAKEN_BY_CLIENTS = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@requirement("gateway.names")
def test_a_short_plain_name_follows_its_server() -> None:
    assert exposed_name("git", "status") == "git__status"
    assert exposed_uri("notes", "file:///a.md") == "notes__file:///a.md"


@requirement("gateway.names")
def test_a_long_name_keeps_its_beginning_and_ends_with_a_digest() -> None:
    name = exposed_name("jira", "search_issues_by_" + "very_long_criterion_" * 5)
    assert len(name) == LONGEST
    assert name.startswith("jira__search_issues_by_very")
    assert name == exposed_name("jira", "search_issues_by_" + "very_long_criterion_" * 5)


@requirement("gateway.names")
@given(SERVERS, st.text(min_size=1, max_size=120))
def test_every_name_is_one_that_clients_take_and_tells_its_server(server: str, name: str) -> None:
    exposed = exposed_name(server, name)
    assert TAKEN_BY_CLIENTS.fullmatch(exposed)
    assert server_of(exposed) == server


@requirement("gateway.names")
@given(SERVERS, st.lists(st.text(min_size=1, max_size=120), unique=True, max_size=8))
def test_different_tools_have_different_names(server: str, names: list[str]) -> None:
    assert len({exposed_name(server, name) for name in names}) == len(names)


@requirement("gateway.names")
def test_a_name_without_a_prefix_names_no_server() -> None:
    assert server_of("memory_search") is None
    assert server_of("server__") is None
