"""Who answers when a person should."""

import pytest

from limen.governance.approvals import NoApprover
from tests.contract.audit_samples import a_call, a_capability
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


@requirement("road.headless-ask")
async def test_where_nobody_can_be_asked_the_answer_is_no() -> None:
    assert await NoApprover().approve(a_call(), a_capability(action="write"), "May it?") is False
