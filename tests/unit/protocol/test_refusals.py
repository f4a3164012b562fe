"""Refusals: each failure under the code its revision wants, with Limen's own code and facts beside it."""

import json

import pytest

from limen.errors import (
    Denied,
    LimenError,
    MethodNotFound,
    NotFound,
    ParseFailed,
    RemoteError,
    RequestCancelled,
    ResourceNotFound,
    UnsupportedVersion,
)
from limen.protocol.frames import ErrorReply, parse
from limen.protocol.refusals import refusal, rpc_code
from limen.protocol.versions import SERVED, SESSION_REVISION, STATELESS_REVISION, Revision
from tests.requirements import requirement


def read(frame: bytes) -> ErrorReply:
    reply = parse(frame)
    assert isinstance(reply, ErrorReply)
    return reply


@requirement("errors.one-table")
@pytest.mark.parametrize(
    ("error", "in_session", "stateless"),
    [
        (ParseFailed("x"), -32700, -32700),
        (MethodNotFound("x"), -32601, -32601),
        (NotFound("x"), -32602, -32602),
        (ResourceNotFound("x"), -32002, -32602),
        (UnsupportedVersion("x"), -32602, -32022),
        (RequestCancelled("x"), -32800, -32800),
        (LimenError("x"), -32603, -32603),
    ],
)
def test_a_failure_has_the_code_its_revision_wants(error: LimenError, in_session: int, stateless: int) -> None:
    assert rpc_code(error, SESSION_REVISION) == in_session
    assert rpc_code(error, STATELESS_REVISION) == stateless


@pytest.mark.parametrize("revision", SERVED)
def test_a_refusal_carries_the_stable_code_and_the_facts(revision: Revision) -> None:
    reply = read(refusal("q", Denied("no", rule="r1"), revision))
    assert (reply.id, reply.code, reply.message) == ("q", -32003, "no")
    assert json.loads(reply.data or b"") == {"code": "denied", "rule": "r1"}


def test_facts_that_json_does_not_know_are_told_as_text() -> None:
    reply = read(refusal(None, LimenError("x", path=object, code_is="ours")))
    assert reply.id is None
    assert json.loads(reply.data or b"")["code"] == "internal"


@pytest.mark.parametrize("revision", SERVED)
@pytest.mark.parametrize("data", [None, b'{ "theirs" : 1.0 }', b"null"])
def test_an_error_of_another_server_passes_on_unchanged(revision: Revision, data: bytes | None) -> None:
    reply = read(refusal(1, RemoteError("theirs", rpc_code=-31999, data=data), revision))
    assert (reply.code, reply.message, reply.data) == (-31999, "theirs", data)
