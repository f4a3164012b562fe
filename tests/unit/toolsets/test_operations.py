"""Operations are found as operations only, read their arguments strictly, and fail by raising."""

import msgspec
import pytest

from limen.calls.call import Call
from limen.errors import InvalidArguments, NotFound
from limen.toolsets.operations import Operation, Operations
from tests.house import a_call, a_caller, a_house

pytestmark = pytest.mark.anyio


class Args(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `double` takes."""

    content: bytes


async def double(args: Args, call: Call) -> dict[str, bytes]:
    if not args.content:
        raise InvalidArguments("content: must not be empty", field="content")
    return {"content": args.content * 2}


OPERATIONS = Operations(
    "sums",
    [
        Operation("double", "Twice the bytes.", Args, double),
        Operation("double_and_write", "Twice the bytes, kept.", Args, double, "write", "write"),
    ],
)
HOUSE = a_house(providers={"sums": OPERATIONS})


async def test_an_operation_answers_with_plain_json() -> None:
    call = a_call("double", kind="operation", method="operations/call", arguments=b'{"content":"YQ=="}')
    assert (await HOUSE.pipeline.run(call)).payload == b'{"content":"YWE="}'


@pytest.mark.parametrize("arguments", [b"{}", b"[]", b"", b'{"content":"YQ==","more":1}', b'{"content":"\xff"}'])
async def test_arguments_that_are_wrong_are_refused(arguments: bytes) -> None:
    with pytest.raises(InvalidArguments):
        await HOUSE.pipeline.run(a_call("double", kind="operation", arguments=arguments))


async def test_what_the_operation_raises_is_raised() -> None:
    with pytest.raises(InvalidArguments) as failed:
        await HOUSE.pipeline.run(a_call("double", kind="operation", arguments=b'{"content":""}'))
    assert failed.value.facts == {"field": "content"}


async def test_operations_are_listed_as_operations_only() -> None:
    assert [found.name for found in await HOUSE.pipeline.list("operation", a_caller())] == [
        "double",
        "double_and_write",
    ]
    for kind in ("tool", "resource", "template", "prompt"):
        assert await HOUSE.pipeline.list(kind, a_caller()) == []
        with pytest.raises(NotFound):
            await HOUSE.pipeline.run(a_call("double", kind=kind, arguments=b'{"content":"YQ=="}'))


async def test_an_operation_above_the_callers_tier_is_not_found() -> None:
    call = a_call("double_and_write", kind="operation", arguments=b'{"content":"YQ=="}', caller=a_caller(tier="read"))
    with pytest.raises(NotFound):
        await HOUSE.pipeline.run(call)
