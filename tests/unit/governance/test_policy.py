"""Who is let in by default, and who is not."""

import pytest

from limen.calls.call import ActionClass, Allow, Caller, Deny, Subject
from limen.governance.policy import LOCAL_ROLE, LocalPolicy
from tests.contract.audit_samples import a_call, a_capability


@pytest.mark.parametrize("action", ["read", "write", "external", "destructive"])
def test_a_local_caller_is_allowed_and_the_rule_is_named(action: ActionClass) -> None:
    caller = Caller(Subject("alice"), roles=frozenset({LOCAL_ROLE, "other"}))
    decision = LocalPolicy().decide(a_call(caller=caller), a_capability(action=action))
    assert decision == Allow("local-default")


@pytest.mark.parametrize("roles", [frozenset[str](), frozenset({"admin"}), frozenset({"locals"}), frozenset({"LOCAL"})])
def test_anybody_else_is_denied_and_the_rule_is_named(roles: frozenset[str]) -> None:
    caller = Caller(Subject("local"), roles=roles, client="local", tenant="local", tier="admin")
    decision = LocalPolicy().decide(a_call(caller=caller), a_capability())
    assert isinstance(decision, Deny)
    assert decision.rule == "remote-default"
