"""The error tree: every code is stable, has one face outside, and carries its facts."""

import pytest

from limen import errors
from limen.errors import FACES, Denied, Face, LimenError, RemoteError, ResourceNotFound, face_of
from tests.requirements import requirement

ALL = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, LimenError)]


@requirement("errors.one-table")
@pytest.mark.parametrize("kind", ALL)
def test_every_error_has_a_face(kind: type[LimenError]) -> None:
    assert isinstance(FACES[kind.code], Face)


@requirement("errors.one-table")
def test_every_code_belongs_to_one_error_and_every_face_to_a_code() -> None:
    codes = [kind.code for kind in ALL]
    assert len(set(codes)) == len(codes)
    assert set(codes) == set(FACES)


@requirement("errors.one-table")
def test_faces_are_what_the_outside_understands() -> None:
    for face in FACES.values():
        assert face.rpc < 0
        assert 400 <= face.http < 600
        assert 1 <= face.exit <= 8


@requirement("cli.exit-codes")
@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        ("internal", 1),
        ("invalid_arguments", 2),
        ("auth_required", 3),
        ("unreachable", 4),
        ("tool_failed", 5),
        ("denied", 6),
        ("approval_pending", 7),
        ("not_found", 8),
    ],
)
def test_each_kind_of_failure_has_the_exit_code_promised(code: str, exit_code: int) -> None:
    assert FACES[code].exit == exit_code


def test_an_error_carries_its_facts_and_reads_as_its_message() -> None:
    error = Denied("no", rule="r1")
    assert (str(error), error.facts, error.code) == ("no", {"rule": "r1"}, "denied")
    assert face_of(error).http == 403


def test_an_error_of_another_server_keeps_its_code_and_data() -> None:
    error = RemoteError("theirs", rpc_code=-31999, data=b"{}")
    assert (error.rpc_code, error.data, error.code) == (-31999, b"{}", "remote_error")


def test_what_a_caller_would_catch_as_one_thing_is_one_branch_of_the_tree() -> None:
    assert issubclass(ResourceNotFound, errors.NotFound)
    assert issubclass(errors.ParseFailed, errors.ProtocolError)
    assert issubclass(errors.TooLarge, errors.ProtocolError)
    assert issubclass(errors.UpstreamTimeout, errors.UpstreamError)
