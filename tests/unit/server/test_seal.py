"""Sealed states: they come back unaltered, in time, from the same principal and for the same request, or not at all."""

import hmac
import json
import stat
from base64 import urlsafe_b64decode, urlsafe_b64encode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from limen.errors import InvalidArguments
from limen.server.seal import Seal
from tests.requirements import requirement
from tests.unit.protocol.json_strategies import objects, texts

KEY = b"k" * 32
SEAL = Seal(KEY)
BINDING = ("local:me", "tools/call", "deploy", '{"to":"prod"}')


def resealed(token: str, **changes: Any) -> str:
    """The token as someone who knows the key would write it with other contents."""
    body = json.loads(urlsafe_b64decode(token)[32:]) | changes
    raw = json.dumps(body).encode()
    return urlsafe_b64encode(hmac.digest(KEY, raw, "sha256") + raw).decode()


def refusal(token: str, *binding: str) -> str:
    with pytest.raises(InvalidArguments) as refused:
        SEAL.open(token, *(binding or BINDING))
    assert refused.value.facts == {"field": "requestState"}
    return str(refused.value)


@requirement("stateless.state-integrity")
@given(objects, st.lists(texts, max_size=4), texts)
def test_what_was_sealed_comes_back(answers: dict[str, Any], binding: list[str], state: str) -> None:
    token = SEAL.close(answers, *binding, state=state)
    assert SEAL.open(token, *binding) == (json.loads(json.dumps(answers)), state)


@requirement("stateless.state-integrity")
@given(st.integers(0, 10_000), st.integers(1, 255))
def test_a_changed_byte_anywhere_is_refused(place: int, change: int) -> None:
    raw = bytearray(urlsafe_b64decode(SEAL.close({"ok": False}, *BINDING)))
    raw[place % len(raw)] ^= change
    refusal(urlsafe_b64encode(bytes(raw)).decode())


@requirement("stateless.state-integrity")
@given(st.text(max_size=80))
def test_no_text_that_was_not_issued_here_is_taken_for_a_state(token: str) -> None:
    refusal(token)


@requirement("stateless.state-integrity")
@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 60])
def test_a_state_cut_short_is_refused(length: int) -> None:
    raw = urlsafe_b64decode(SEAL.close({}, *BINDING))
    refusal(urlsafe_b64encode(raw[:length]).decode())


@requirement("stateless.state-integrity")
@pytest.mark.parametrize(
    "other",
    [
        ("local:you", "tools/call", "deploy", '{"to":"prod"}'),
        ("local:me", "prompts/get", "deploy", '{"to":"prod"}'),
        ("local:me", "tools/call", "destroy", '{"to":"prod"}'),
        ("local:me", "tools/call", "deploy", '{"to":"test"}'),
        ("local:me", "tools/call", "deploy"),
        ("local:me", "tools/call", "deploy", '{"to":"prod"}', ""),
    ],
)
def test_a_state_of_another_principal_method_target_or_arguments_is_refused(other: tuple[str, ...]) -> None:
    token = SEAL.close({"approved": True}, *BINDING)
    assert SEAL.open(token, *BINDING) == ({"approved": True}, "")
    refusal(token, *other)


@requirement("stateless.state-integrity")
@given(st.lists(texts, min_size=1, max_size=3), st.lists(texts, min_size=1, max_size=3))
@example(["a\x00b"], ["a", "b"])
@example(['a","b'], ["a", "b"])
def test_two_bindings_are_the_same_only_when_they_are_equal(one: list[str], other: list[str]) -> None:
    token = SEAL.close({}, *one)
    if one == other:
        assert SEAL.open(token, *other) == ({}, "")
    else:
        refusal(token, *other)


@requirement("stateless.state-integrity")
def test_a_state_that_has_expired_is_refused() -> None:
    token = SEAL.close({}, *BINDING)
    assert SEAL.open(resealed(token), *BINDING) == ({}, "")
    assert "expired" in refusal(resealed(token, expires_ms=1))


@requirement("stateless.state-integrity")
def test_a_state_sealed_with_another_key_is_refused() -> None:
    refusal(Seal(b"another key").close({}, *BINDING))


def test_the_key_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "state" / "seal.key"
    first, second = Seal.load(path), Seal.load(path)
    assert first == second
    assert second.open(first.close({"a": 1}, "b"), "b") == ({"a": 1}, "")
    assert len(path.read_bytes()) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["seal.key"]
