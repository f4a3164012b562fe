"""Only an answer that other credentials would change is a challenge."""

import pytest

from limen.transport.authorizer import Challenge, read_challenge


@pytest.mark.parametrize("told", ["", "Bearer", 'Bearer error="invalid_token"'])
def test_a_401_is_a_challenge_whatever_it_says(told: str) -> None:
    assert read_challenge(401, {"www-authenticate": told}, "Bearer x") == Challenge(401, told, "Bearer x")


def test_a_403_is_one_only_for_want_of_scope() -> None:
    assert read_challenge(403, {}, "") is None
    assert read_challenge(403, {"www-authenticate": 'Bearer error="invalid_token"'}, "") is None
    assert read_challenge(403, {"www-authenticate": 'Bearer error_description="error=insufficient_scope"'}, "") is None
    found = read_challenge(403, {"www-authenticate": 'Bearer scope="a b", error=insufficient_scope'}, "")
    assert found is not None
    assert found.wants_scope
    assert found.scopes == {"a", "b"}


@pytest.mark.parametrize("status", [200, 202, 307, 400, 404, 500])
def test_nothing_else_is(status: int) -> None:
    assert read_challenge(status, {"www-authenticate": "Bearer"}, "") is None


def test_scopes_are_empty_where_none_are_named() -> None:
    assert not Challenge(401, 'Bearer my_scope="x"').scopes
