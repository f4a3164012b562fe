"""The dispatcher: two sides of one conversation, what is in flight, and how either side gives up."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.errors import ChannelClosed, ProtocolError, RemoteError, RequestTimeout
from limen.protocol.frames import Notification, Request, encode_error, encode_reply, encode_request
from limen.transport.channel import Channel
from limen.transport.dispatcher import Dispatcher, Outlet
from limen.transport.inflight import MAX_IN_FLIGHT
from limen.transport.lines import LineChannel
from limen.transport.memory import memory_pair
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

Handler = Callable[[Request, Outlet], Awaitable[bytes | None]]


@dataclass(slots=True)
class Servant:
    """Answers `echo` with its params, and holds `hang` until it is cancelled; other methods as told."""

    handlers: dict[str, Handler] = field(default_factory=dict[str, Handler])
    heard: list[str] = field(default_factory=list[str])
    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: list[int | str] = field(default_factory=list[int | str])
    is_silent: bool = False

    async def answer(self, request: Request, outlet: Outlet) -> bytes | None:
        if request.method == "hang":
            return await self._hang(request)
        handler = self.handlers.get(request.method)
        return await handler(request, outlet) if handler else encode_reply(request.id, request.params)

    async def _hang(self, request: Request) -> None:
        self.hanging.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.append(request.id)
            raise

    def withdrawn(self, request: Request) -> bytes | None:
        return None if self.is_silent else encode_error(request.id, -32800, "cancelled")

    def hear(self, notification: Notification) -> None:
        self.heard.append(notification.method)


class Peer:
    """The other side, by hand: raw frames out, decoded frames in."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel

    async def tell(self, method: str, message_id: int | str | None = None, **params: Any) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if message_id is not None:
            message["id"] = message_id
        await self.channel.send(json.dumps(message).encode())

    async def answer(self, message_id: int, result: object) -> None:
        await self.channel.send(encode_reply(message_id, json.dumps(result).encode()))

    async def next(self) -> dict[str, Any]:
        frame = await self.channel.receive()
        assert frame is not None
        return json.loads(frame)

    async def rest(self) -> list[dict[str, Any]]:
        """Say goodbye and read to the end."""
        frames: list[dict[str, Any]] = []
        while (frame := await self.channel.receive()) is not None:
            frames.append(json.loads(frame))
        return frames


@dataclass(frozen=True, slots=True)
class Wire:
    """Carries what one channel of lines writes to another, each piece in a turn of its own."""

    source: LineChannel
    target: LineChannel
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    def write(self, data: bytes, /) -> None:
        self.loop.call_soon(self.target.data_received, data)

    def close(self) -> None:
        self.loop.call_soon(self.target.finish)
        self.source.sink_lost()

    def abort(self) -> None:
        self.close()


def line_pair(_: int = 0) -> tuple[Channel, Channel]:
    """Both ends of a connection that offers lone frames to its dispatcher, as stdio does."""
    ours, theirs = LineChannel(1 << 20), LineChannel(1 << 20)
    ours.attach(Wire(ours, theirs))
    theirs.attach(Wire(theirs, ours))
    return ours, theirs


@dataclass(slots=True)
class Carrier:
    """What carries the frames of the test that runs."""

    pair: Callable[[int], tuple[Channel, Channel]]


CARRIER = Carrier(memory_pair)


@pytest.fixture(params=[memory_pair, line_pair], autouse=True, scope="module")
def carrier(request: pytest.FixtureRequest) -> None:
    """Every test here runs over frames that wait for their reader, and over frames that are offered."""
    CARRIER.pair = request.param


@asynccontextmanager
async def talking(
    servant: Servant | None = None, *, capacity: int = 64, can_stall: bool = False
) -> AsyncGenerator[tuple[Peer, Dispatcher, Servant], None]:
    """A dispatcher that serves one end of a channel; the test holds the other."""
    ours, theirs = (memory_pair if can_stall else CARRIER.pair)(capacity)
    service = servant or Servant()
    dispatcher = Dispatcher(service, ours.send)
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        serving = group.create_task(dispatcher.serve(ours))
        try:
            yield Peer(theirs), dispatcher, service
        finally:
            await theirs.aclose()
            await serving


@requirement("dispatch.concurrent")
async def test_requests_in_flight_at_once_are_answered_as_they_finish() -> None:
    gates = {name: asyncio.Event() for name in ("a", "b", "c")}

    async def wait(request: Request, _: Outlet) -> bytes:
        await gates[json.loads(request.params)["gate"]].wait()
        return encode_reply(request.id, b"{}")

    async with talking(Servant({"wait": wait})) as (peer, _, _):
        for name in gates:
            await peer.tell("wait", name, gate=name)
        for name in ("c", "a", "b"):
            gates[name].set()
            assert (await peer.next())["id"] == name


STEPS = st.lists(st.sampled_from(["echo", "yield", "wait", "cancel", "open", "bad", "tell", "turn"]), max_size=40)


class Script:
    """A peer that does one odd thing after the other, and knows which answers it is due."""

    def __init__(self, peer: Peer, gates: list[asyncio.Event]) -> None:
        self.peer = peer
        self.gates = gates
        self.due: list[str] = []

    async def do(self, step: str, number: int) -> None:
        match step:
            case "echo" | "yield" | "wait":
                self.due.append(str(number))
                await self.peer.tell(step, str(number))
            case "cancel":
                await self.peer.tell("notifications/cancelled", requestId=self.due[-1] if self.due else "")
            case "open":
                self.gates.append(asyncio.Event())
                self.gates[-2].set()
            case "bad":
                self.due.append("None")
                await self.peer.channel.send(b"{")
            case "tell":
                await self.peer.tell("notifications/something")
            case _:
                await asyncio.sleep(0)


@requirement("dispatch.concurrent", "dispatch.cancel-in", "wire.bad-json")
@given(STEPS)
async def test_whatever_the_order_every_request_is_answered_exactly_once(steps: list[str]) -> None:
    gates = [asyncio.Event()]

    async def wait(request: Request, _: Outlet) -> bytes:
        await gates[-1].wait()
        return encode_reply(request.id, b"{}")

    async def turn(request: Request, _: Outlet) -> bytes:
        await asyncio.sleep(0)
        return encode_reply(request.id, b"{}")

    async with talking(Servant({"wait": wait, "yield": turn}), capacity=200) as (peer, _, servant):
        script = Script(peer, gates)
        for number, step in enumerate([*steps, "echo"]):
            await script.do(step, number)
        answered = [str((await peer.next())["id"])]
        for gate in gates:
            gate.set()
        while len(answered) < len(script.due):
            answered.append(str((await peer.next())["id"]))
        assert sorted(answered) == sorted(script.due)
        assert len(servant.heard) == steps.count("tell")


@requirement("wire.duplicate-id")
async def test_an_id_still_in_flight_is_refused_and_the_first_request_is_still_answered() -> None:
    async with talking() as (peer, _, servant):
        await peer.tell("hang", 1)
        await servant.hanging.wait()
        await peer.tell("echo", 1)
        refused = await peer.next()
        assert (refused["id"], refused["error"]["code"]) == (1, -32600)
        assert refused["error"]["data"]["code"] == "duplicate_request"
        await peer.tell("notifications/cancelled", requestId=1)
        assert (await peer.next())["error"]["code"] == -32800


async def test_an_id_may_be_used_again_once_it_was_answered() -> None:
    async with talking() as (peer, _, _):
        for _ in range(3):
            await peer.tell("echo", 1)
            assert (await peer.next())["result"] == {}


async def test_a_number_and_a_string_that_looks_like_it_are_two_requests() -> None:
    async with talking() as (peer, _, servant):
        await peer.tell("hang", 1)
        await servant.hanging.wait()
        await peer.tell("echo", "1")
        assert (await peer.next())["id"] == "1"
        await peer.tell("notifications/cancelled", requestId=1)
        assert (await peer.next())["id"] == 1


@requirement("dispatch.cancel-in")
async def test_a_cancelled_request_stops_its_handler_and_is_answered() -> None:
    async with talking() as (peer, _, servant):
        await peer.tell("hang", "q")
        await servant.hanging.wait()
        await peer.tell("notifications/cancelled", requestId="q", reason="changed my mind")
        answer = await peer.next()
        assert (answer["id"], answer["error"]["code"], servant.cancelled) == ("q", -32800, ["q"])


@requirement("dispatch.cancel-in")
async def test_a_cancel_read_together_with_its_request_is_answered_all_the_same() -> None:
    async with talking() as (peer, _, servant):
        await peer.tell("hang", 1)
        await peer.tell("notifications/cancelled", requestId=1)
        assert (await peer.next())["error"]["code"] == -32800
        assert servant.cancelled == [1]


@requirement("stateless.cancel-silent")
async def test_a_service_that_stays_silent_about_a_cancelled_request_sends_nothing() -> None:
    async with talking(Servant(is_silent=True)) as (peer, _, servant):
        await peer.tell("hang", 1)
        await servant.hanging.wait()
        await peer.tell("notifications/cancelled", requestId=1)
        await peer.tell("echo", 2)
        assert (await peer.next())["id"] == 2
        assert servant.cancelled == [1]


@pytest.mark.parametrize(
    "params", [{}, {"requestId": 99}, {"requestId": None}, {"requestId": 1.5}, {"requestId": [1]}, {"requestId": "1"}]
)
async def test_a_cancel_of_nothing_that_is_in_flight_does_no_harm(params: dict[str, Any]) -> None:
    async with talking() as (peer, _, servant):
        await peer.tell("hang", 1)
        await servant.hanging.wait()
        await peer.tell("notifications/cancelled", **params)
        await peer.tell("echo", 2)
        assert (await peer.next())["id"] == 2
        assert servant.cancelled == []
        await peer.tell("notifications/cancelled", requestId=1)
        await peer.next()


async def test_a_request_cancelled_twice_is_answered_once() -> None:
    async with talking() as (peer, _, servant):
        await peer.tell("hang", 1)
        await servant.hanging.wait()
        await peer.tell("notifications/cancelled", requestId=1)
        await peer.tell("notifications/cancelled", requestId=1)
        await peer.tell("echo", 2)
        assert sorted([(await peer.next())["id"], (await peer.next())["id"]]) == [1, 2]


@requirement("wire.bad-json", "wire.bad-envelope", "wire.batch-refused")
@pytest.mark.parametrize(
    ("bad", "message_id", "code"),
    [
        (b"{", None, -32700),
        (b'{"jsonrpc":"2.0","id":"q","method":"\xff"}', "q", -32700),
        (b"[]", None, -32600),
        (b'{"jsonrpc":"1.0","id":"q","method":"echo"}', "q", -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"echo"}', None, -32600),
    ],
)
async def test_a_bad_frame_is_answered_and_the_next_good_one_served(
    bad: bytes, message_id: str | None, code: int
) -> None:
    async with talking() as (peer, _, _):
        await peer.channel.send(bad)
        answer = await peer.next()
        assert (answer["id"], answer["error"]["code"]) == (message_id, code)
        await peer.tell("echo", 2, a=1)
        assert (await peer.next())["result"] == {"a": 1}


async def test_what_needs_no_answer_is_passed_to_the_service() -> None:
    async with talking() as (peer, _, servant):
        await peer.tell("notifications/initialized")
        await peer.tell("notifications/never-heard-of")
        await peer.tell("echo", 1)
        await peer.next()
        assert servant.heard == ["notifications/initialized", "notifications/never-heard-of"]


def test_a_request_cannot_be_accepted_without_being_answered() -> None:
    async def nowhere(frame: bytes) -> None: ...

    with pytest.raises(ProtocolError):
        Dispatcher(Servant(), nowhere).accept(Request(1, "echo", b"{}"))


async def test_what_is_asked_is_answered_by_its_id_in_any_order() -> None:
    async with talking() as (peer, dispatcher, _), asyncio.TaskGroup() as group:
        asked = [group.create_task(dispatcher.request(name, timeout_s=5)) for name in ("one", "two")]
        ids = {(frame := await peer.next())["method"]: frame["id"] for _ in range(2)}
        await peer.answer(ids["two"], 2)
        await peer.answer(ids["one"], 1)
        assert [await task for task in asked] == [b"1", b"2"]


async def test_an_error_that_is_answered_keeps_its_code_and_data() -> None:
    async with talking() as (peer, dispatcher, _), asyncio.TaskGroup() as group:
        task = group.create_task(_failure(dispatcher.request("x", timeout_s=5)))
        asked = await peer.next()
        await peer.channel.send(encode_error(asked["id"], -31999, "theirs", b'{ "a": 1.0 }'))
        error = await task
        assert isinstance(error, RemoteError)
        assert (error.rpc_code, str(error), error.data) == (-31999, "theirs", b'{ "a": 1.0 }')


async def _failure(work: Awaitable[object]) -> Exception | None:
    try:
        await work
    except Exception as error:  # noqa: BLE001 - whatever it is, the test looks at it
        return error
    return None


@requirement("dispatch.timeout-out")
async def test_an_outbound_request_past_its_deadline_fails_and_the_other_side_is_told() -> None:
    async with talking() as (peer, dispatcher, _), asyncio.TaskGroup() as group:
        task = group.create_task(_failure(dispatcher.request("slow", timeout_s=0.01)))
        asked, told = await peer.next(), await peer.next()
        assert isinstance(await task, RequestTimeout)
        assert (told["method"], told["params"]["requestId"]) == ("notifications/cancelled", asked["id"])


async def test_each_outbound_request_has_a_deadline_of_its_own() -> None:
    async with talking() as (peer, dispatcher, _), asyncio.TaskGroup() as group:
        waits = {"long": 5.0, "short": 0.01, "longer": 9.0, "shorter": 0.005}
        tasks = {
            name: group.create_task(_failure(dispatcher.request(name, timeout_s=wait_s)))
            for name, wait_s in waits.items()
        }
        ids = {(frame := await peer.next())["method"]: frame["id"] for _ in waits}
        given_up = [(await peer.next())["params"]["requestId"] for _ in range(2)]
        assert given_up == [ids["shorter"], ids["short"]]
        for name in ("long", "longer"):
            assert not tasks[name].done()
            await peer.answer(ids[name], {})


async def test_a_request_that_is_extended_outlives_its_first_deadline() -> None:
    async with talking() as (peer, dispatcher, _), asyncio.TaskGroup() as group:
        mine = object()
        extended = group.create_task(dispatcher.request("mine", timeout_s=0.05, context=mine))
        other = group.create_task(_failure(dispatcher.request("other", timeout_s=0.05)))
        asked = await peer.next()
        await peer.next()
        dispatcher.extend(mine, 5.0)
        assert isinstance(await other, RequestTimeout)
        assert not extended.done()
        await peer.answer(asked["id"], 1)
        assert await extended == b"1"


async def test_nothing_is_asked_of_a_side_that_has_gone() -> None:
    async with talking() as (_, dispatcher, _):
        assert not dispatcher.is_over
    assert dispatcher.is_over
    with pytest.raises(ChannelClosed):
        await dispatcher.request("x", timeout_s=5)


@requirement("dispatch.cancel-out")
async def test_a_cancelled_outbound_request_tells_the_other_side() -> None:
    async with talking() as (peer, dispatcher, _), asyncio.TaskGroup() as group:
        task = group.create_task(dispatcher.request("slow", timeout_s=5))
        asked = await peer.next()
        task.cancel()
        told = await peer.next()
        assert (told["method"], told["params"]["requestId"]) == ("notifications/cancelled", asked["id"])


@requirement("dispatch.late-answer")
async def test_an_answer_to_a_request_that_was_given_up_is_dropped() -> None:
    async with talking() as (peer, dispatcher, _), asyncio.TaskGroup() as group:
        task = group.create_task(_failure(dispatcher.request("slow", timeout_s=0.01)))
        asked = await peer.next()
        await task
        await peer.next()
        await peer.answer(asked["id"], "late")
        await peer.answer(4711, "never asked")
        await peer.channel.send(encode_error(None, -32700, "what?"))
        await peer.tell("echo", 1)
        assert (await peer.next())["id"] == 1


@requirement("dispatch.progress")
async def test_progress_reaches_the_one_who_asked_under_the_token_it_was_given() -> None:
    async with talking() as (peer, dispatcher, _), asyncio.TaskGroup() as group:
        seen: dict[str, list[int]] = {"one": [], "two": []}
        tasks = [
            group.create_task(
                dispatcher.request(
                    name,
                    b'{"a":1.0,"_meta":{"mine":2}}',
                    timeout_s=5,
                    on_progress=lambda params, name=name: seen[name].append(json.loads(params)["progress"]),
                )
            )
            for name in seen
        ]
        asked = {(frame := await peer.next())["method"]: frame for _ in range(2)}
        assert asked["one"]["params"]["a"] == 1.0
        assert asked["one"]["params"]["_meta"]["mine"] == 2
        for name, steps in (("one", 1), ("two", 10), ("one", 2)):
            token = asked[name]["params"]["_meta"]["progressToken"]
            await peer.tell("notifications/progress", progressToken=token, progress=steps)
        for name in seen:
            await peer.answer(asked[name]["id"], {})
        for task in tasks:
            await task
        assert seen == {"one": [1, 2], "two": [10]}


@requirement("dispatch.progress")
@pytest.mark.parametrize("params", [{}, {"progressToken": 99}, {"progressToken": None}, {"progressToken": []}])
async def test_progress_nobody_asked_for_does_no_harm(params: dict[str, Any]) -> None:
    async with talking() as (peer, _, _):
        await peer.tell("notifications/progress", progress=1, **params)
        await peer.tell("echo", 1)
        assert (await peer.next())["id"] == 1


@requirement("dispatch.progress")
async def test_progress_that_is_read_in_the_turn_of_the_deadline_does_not_end_the_conversation() -> None:
    async with talking() as (peer, dispatcher, _), asyncio.TaskGroup() as group:
        task = group.create_task(_failure(dispatcher.request("slow", timeout_s=0)))
        while not task.done():
            dispatcher.accept(Notification("notifications/progress", b'{"progressToken":1}'))
            await asyncio.sleep(0)
        assert isinstance(task.result(), RequestTimeout)
        assert [(await peer.next())["method"] for _ in range(2)] == ["slow", "notifications/cancelled"]


@requirement("dispatch.timeout-out")
async def test_a_peer_that_does_not_read_cannot_hold_a_request_past_its_deadline() -> None:
    async with talking(capacity=1, can_stall=True) as (peer, dispatcher, _):
        await dispatcher.notify("notifications/filler")
        with pytest.raises(RequestTimeout):
            await dispatcher.request("never sent", timeout_s=0.01)
        assert (await peer.next())["method"] == "notifications/filler"


@requirement("channel.backpressure")
async def test_a_client_that_sends_and_never_reads_is_not_read_from_for_ever() -> None:
    async with talking(capacity=4, can_stall=True) as (peer, _, _):
        sent = await _send_until_stuck(peer)
        assert sent <= MAX_IN_FLIGHT + 16
        assert {(await peer.next())["id"] for _ in range(sent)} == set(range(sent))


async def _send_until_stuck(peer: Peer) -> int:
    sent = 0
    try:
        while True:
            async with asyncio.timeout(0.5):
                await peer.channel.send(encode_request(sent, "echo"))
            sent += 1
    except TimeoutError:
        return sent


async def test_an_answer_cut_off_by_a_cancel_not_meant_for_it_is_still_an_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shared: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def wait(request: Request, _: Outlet) -> bytes:
        return await shared

    async with talking(Servant({"wait": wait})) as (peer, _, _):
        await peer.tell("wait", 1)
        await peer.tell("echo", 2)
        assert (await peer.next())["id"] == 2
        shared.cancel()
        answer = await peer.next()
        assert (answer["id"], answer["error"]["code"]) == (1, -32603)
        await peer.tell("wait", 3)
        assert (await peer.next())["error"]["code"] == -32603
        await peer.tell("echo", 4)
        assert (await peer.next())["id"] == 4
    assert "request cut off by a cancel not meant for it" in caplog.messages


@pytest.mark.parametrize("turns", range(6))
async def test_a_dispatcher_that_is_cancelled_leaves_nothing_running(turns: int) -> None:
    before = asyncio.all_tasks()
    ours, theirs = CARRIER.pair(64)
    dispatcher = Dispatcher(Servant(), ours.send)
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(dispatcher.serve(ours))
        await asyncio.sleep(0)
        for number in range(3):
            await theirs.send(encode_request(number, "hang"))
        for _ in range(turns):
            await asyncio.sleep(0)
        serving.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_requests_that_never_wait_do_not_keep_everybody_else_waiting() -> None:
    async with talking(capacity=5000) as (peer, _, _):
        for number in range(5000):
            await peer.channel.send(encode_request(number, "echo"))
        turns = 0
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(_read(peer, 5000))
            while not reading.done():
                turns += 1
                await asyncio.sleep(0)
        assert turns > 5


async def _read(peer: Peer, frames: int) -> None:
    for _ in range(frames):
        await peer.next()


async def test_requests_past_the_most_that_may_be_in_flight_are_refused_one_by_one() -> None:
    gate = asyncio.Event()

    async def wait(request: Request, _: Outlet) -> bytes:
        await gate.wait()
        return encode_reply(request.id, b"{}")

    async with talking(Servant({"wait": wait}), capacity=MAX_IN_FLIGHT * 2) as (peer, _, _):
        for number in range(MAX_IN_FLIGHT + 1):
            await peer.tell("wait", number)
        refused = await peer.next()
        assert (refused["id"], refused["error"]["data"]["code"]) == (MAX_IN_FLIGHT, "overloaded")
        await peer.tell("notifications/cancelled", requestId=0)
        assert (await peer.next())["id"] == 0
        await peer.tell("echo", "there is room now")
        assert (await peer.next())["id"] == "there is room now"
        gate.set()


async def test_when_the_client_leaves_requests_that_can_finish_do_and_the_others_are_cancelled() -> None:
    ours, theirs = CARRIER.pair(64)
    servant = Servant()
    dispatcher = Dispatcher(servant, ours.send)
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        group.create_task(dispatcher.serve(ours))
        peer = Peer(theirs)
        await peer.tell("hang", 1)
        await servant.hanging.wait()
        await theirs.aclose()
    assert servant.cancelled == [1]


async def test_what_waits_for_an_answer_fails_when_the_client_leaves() -> None:
    ours, theirs = CARRIER.pair(64)
    dispatcher = Dispatcher(Servant(), ours.send)
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        group.create_task(dispatcher.serve(ours))
        task = group.create_task(_failure(dispatcher.request("x", timeout_s=5)))
        await theirs.receive()
        await theirs.aclose()
    assert isinstance(task.result(), ChannelClosed)


async def test_an_answer_for_a_client_that_has_left_is_logged_and_not_raised(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ours, theirs = memory_pair(64)
    gate = asyncio.Event()

    async def wait(request: Request, _: Outlet) -> bytes:
        await gate.wait()
        return encode_reply(request.id, b"{}")

    with caplog.at_level(logging.INFO, "limen.transport.dispatcher"):
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            group.create_task(Dispatcher(Servant({"wait": wait}), ours.send).serve(ours))
            await theirs.send(encode_request(1, "wait"))
            await theirs.send(encode_request(2, "echo"))
            await theirs.receive()
            await theirs.aclose()
            gate.set()
    assert "reply dropped, the client is gone" in caplog.messages


async def test_one_request_can_be_answered_in_the_task_that_brought_it() -> None:
    async def nowhere(frame: bytes) -> None: ...

    servant = Servant()
    dispatcher = Dispatcher(servant, nowhere)
    assert json.loads(await dispatcher.answer(Request(1, "echo", b"{}"), nowhere) or b"")["id"] == 1
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        task = group.create_task(dispatcher.answer(Request(1, "hang", b"{}"), nowhere))
        await servant.hanging.wait()
        twice = json.loads(await dispatcher.answer(Request(1, "echo", b"{}"), nowhere) or b"")
        assert twice["error"]["data"]["code"] == "duplicate_request"
        dispatcher.accept(Notification("notifications/cancelled", b'{"requestId":1}'))
    assert json.loads(task.result() or b"")["error"]["code"] == -32800


async def test_a_carrier_that_is_itself_cancelled_is_not_mistaken_for_a_withdrawal() -> None:
    async def nowhere(frame: bytes) -> None: ...

    servant = Servant()
    dispatcher = Dispatcher(servant, nowhere)
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        task = group.create_task(dispatcher.answer(Request(1, "hang", b"{}"), nowhere))
        await servant.hanging.wait()
        task.cancel()
    assert task.cancelled()
