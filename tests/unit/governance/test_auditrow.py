"""What a row's text says, for any call."""

import json
from hashlib import sha256
from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st

from limen.calls.call import ActionClass, Caller, Outcome, Subject
from limen.clock import timestamp
from limen.governance.auditrow import RowWriter
from tests.contract.audit_samples import DONE, a_call, a_capability
from tests.requirements import requirement

TEXT = st.text(st.characters(exclude_categories=()), max_size=60)


def bodies(writer: RowWriter, call: Any, capability: Any, outcome: Outcome, rule: str = "r") -> tuple[Any, Any]:
    return (
        json.loads(writer.intent(call, capability, rule, 1_000)),
        json.loads(writer.outcome(call, capability, rule, outcome, 2_001)),
    )


@requirement("audit.intent-and-outcome")
def test_both_rows_of_a_call_tell_the_whole_story() -> None:
    caller = Caller(Subject("alice"), client="tests/1", tenant="acme")
    call = a_call("search", arguments=b"{}", caller=caller)
    intent, outcome = bodies(RowWriter("7.99"), call, a_capability(), DONE, "local-default")
    common = {
        "id": call.id,
        "subject": "alice",
        "client": "tests/1",
        "method": "tools/call",
        "kind": "tool",
        "server": "hub",
        "name": "search",
        "class": "read",
        "args": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        "tenant": "acme",
        "rule": "local-default",
    }
    assert intent == {**common, "phase": "intent", "at": "1970-01-01T00:00:01.000Z", "run": "7.99"}
    assert outcome == {
        **common,
        "phase": "outcome",
        "at": "1970-01-01T00:00:02.001Z",
        "status": "ok",
        "code": "",
        "duration_ms": 1.25,
        "bytes_out": 42,
    }


def test_a_call_that_reached_nothing_has_no_server_and_no_class() -> None:
    _, outcome = bodies(RowWriter("7"), a_call("nothing"), None, Outcome("not_found", "not_found"))
    assert (outcome["server"], outcome["class"], outcome["code"]) == ("", "", "not_found")


def test_an_outcome_without_a_rule_of_its_own_keeps_that_of_the_intent() -> None:
    _, outcome = bodies(RowWriter("7"), a_call(), a_capability(), Outcome("cancelled"), "allow-all")
    assert outcome["rule"] == "allow-all"


@given(outcome_rule=st.sampled_from(["", "r", "other"]), began=st.integers(0, 10**13), took=st.integers(0, 5_000))
def test_both_rows_in_one_go_are_the_rows_one_by_one(outcome_rule: str, began: int, took: int) -> None:
    outcome = Outcome("tool_error", "timeout", outcome_rule, 3.5, 7)
    call, capability = a_call(), a_capability()
    one_by_one = [
        RowWriter("7").intent(call, capability, "r", began),
        RowWriter("7").outcome(call, capability, "r", outcome, began + took),
    ]
    both = RowWriter("7").both(call, capability, "r", began, outcome, began + took)
    assert both == b"\n".join([*one_by_one, b""])


def test_what_is_remembered_of_one_call_is_not_told_of_another() -> None:
    writer = RowWriter("7")
    callers = [Caller(Subject("alice"), client="a"), Caller(Subject("alice"), client="b"), Caller(Subject("bob"))]
    calls = [a_call(name, caller=caller) for name in ("one", "two") for caller in callers]
    capabilities = [a_capability(), a_capability(action="write"), a_capability(source="elsewhere")]
    for _ in range(2):
        for call in calls:
            for capability in capabilities:
                row = json.loads(writer.intent(call, capability, "r", 0))
                told = row["id"], row["subject"], row["client"], row["name"], row["class"], row["server"]
                who = call.caller
                assert told == (call.id, who.subject, who.client, call.name, capability.action, capability.source)


def test_rows_stay_right_however_many_names_there_are() -> None:
    writer = RowWriter("7")
    for number in range(3_000):
        row = json.loads(writer.intent(a_call(f"tool-{number % 1_500}"), a_capability(), "r", 0))
        assert row["name"] == f"tool-{number % 1_500}"


@given(name=TEXT, subject=TEXT, client=TEXT, rule=TEXT, action=st.sampled_from(get_args(ActionClass)))
def test_any_text_makes_a_row_that_is_json(name: str, subject: str, client: str, rule: str, action: Any) -> None:
    call = a_call(name, caller=Caller(Subject(subject), client=client))
    intent, outcome = bodies(RowWriter("7"), call, a_capability(action=action), DONE, rule)
    assert intent["subject"] == outcome["subject"] == subject.encode("utf-8", "replace").decode()
    assert intent["rule"] == rule.encode("utf-8", "replace").decode()


@given(st.lists(st.integers(0, 4_000_000_000_000), min_size=1, max_size=5))
def test_times_are_written_as_everywhere_else(times: list[int]) -> None:
    writer = RowWriter("7")
    rows = [json.loads(writer.intent(a_call(), a_capability(), "", ms)) for ms in times]
    assert [row["at"] for row in rows] == [timestamp(ms) for ms in times]


def test_names_of_any_length_make_rows_of_bounded_length() -> None:
    huge = "x" * 1_000_000
    call = a_call(huge, caller=Caller(Subject(huge), client=huge, tenant=huge))
    assert len(RowWriter("7").intent(call, a_capability(), "r", 0)) < 3_000


@requirement("audit.redacted")
def test_arguments_are_kept_as_a_digest_unless_asked_for() -> None:
    call = a_call(arguments=b'{"token":"abc","q":"plain"}')
    assert b"plain" not in RowWriter("7").intent(call, a_capability(), "r", 0)
    intent, _ = bodies(RowWriter("7", "redacted"), call, a_capability(), DONE)
    assert intent["args"] == {"token": "[redacted]", "q": "plain"}


@requirement("audit.redacted")
def test_arguments_too_large_or_unreadable_are_kept_as_a_digest() -> None:
    for arguments in (b'{"q":"' + b"x" * 20_000 + b'"}', b"no json"):
        intent, _ = bodies(RowWriter("7", "redacted"), a_call(arguments=arguments), a_capability(), DONE)
        assert intent["args"].startswith("sha256:")


@requirement("audit.redacted")
def test_credentials_in_an_address_are_masked() -> None:
    call = a_call("https://alice:hunter2@example.org/x", method="resources/read", kind="resource")
    intent, _ = bodies(RowWriter("7"), call, a_capability(), DONE)
    assert intent["name"] == "https://alice:[redacted]@example.org/x"


@given(st.binary(max_size=400))
def test_the_digest_of_arguments_is_sha256_whatever_their_length(arguments: bytes) -> None:
    call = a_call("search", arguments=arguments)
    lines = RowWriter("7.99").both(call, a_capability(), "r", 1_000, DONE, 2_001).splitlines()
    expected = f"sha256:{sha256(arguments).hexdigest()}"
    assert [json.loads(line)["args"] for line in lines] == [expected, expected]
