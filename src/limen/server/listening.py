"""`subscriptions/listen`: a request whose answer is news, for as long as its sender stays."""

import asyncio
from contextlib import ExitStack
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from limen.calls.changes import Change, ChangeFeed, ListChanged, ResourceUpdated
from limen.errors import Denied, InvalidArguments, NotFound
from limen.protocol.frames import encode_notification
from limen.protocol.versions import META_SUBSCRIPTION
from limen.server.methods import Turn
from limen.server.params import SubscriptionFilter
from limen.server.session import LIST_CHANGED
from limen.transport.dispatcher import Outlet

__all__ = ["listen"]

LISTEN_QUEUE: Final = 256
MAX_RESOURCES: Final = 1000
"""Each walks the road before anything is heard."""


async def listen(turn: Turn, wanted: SubscriptionFilter, changes: ChangeFeed, outlet: Outlet) -> None:
    """Acknowledge what the caller may hear, then pass it on; returns only when the caller cannot keep up."""
    with ExitStack() as following:
        await _pass_on(turn, await _agree(turn, wanted, changes, following), changes, outlet)


async def _pass_on(turn: Turn, agreed: SubscriptionFilter, changes: ChangeFeed, outlet: Outlet) -> None:
    tag = {META_SUBSCRIPTION: turn.request.id}
    queue: asyncio.Queue[bytes] = asyncio.Queue(LISTEN_QUEUE)
    overrun = asyncio.Event()

    def hear(change: Change) -> None:
        frame = _news(change, agreed, tag)
        if frame is not None:
            if queue.full():
                overrun.set()
            else:
                queue.put_nowait(frame)

    stop = changes.listen(hear)
    try:
        ack = msgspec.json.encode({"_meta": tag, "notifications": agreed})
        await outlet(encode_notification("notifications/subscriptions/acknowledged", ack))
        while not overrun.is_set():
            await outlet(await queue.get())
    finally:
        stop()


async def _agree(
    turn: Turn, wanted: SubscriptionFilter, changes: ChangeFeed, following: ExitStack
) -> SubscriptionFilter:
    """The filter without resources the caller may not use: a subscription takes the road like any other use."""
    if not wanted.resource_subscriptions:
        return wanted
    if len(wanted.resource_subscriptions) > MAX_RESOURCES:
        raise InvalidArguments(
            f"notifications.resourceSubscriptions: {MAX_RESOURCES} at the most", field="resourceSubscriptions"
        )
    granted: list[str] = []
    for uri in dict.fromkeys(wanted.resource_subscriptions):
        following.callback(changes.follow(uri))
        try:
            await turn.walk("resource", uri, b"{}")
        except (NotFound, Denied):
            continue
        granted.append(uri)
    return replace(wanted, resource_subscriptions=granted)


def _news(change: Change, agreed: SubscriptionFilter, tag: dict[str, Any]) -> bytes | None:
    match change:
        case ResourceUpdated(uri=uri):
            if uri not in (agreed.resource_subscriptions or ()):
                return None
            params = {"_meta": tag, "uri": uri}
            return encode_notification("notifications/resources/updated", msgspec.json.encode(params))
        case ListChanged(kind=kind):
            asked = {
                "tool": agreed.tools_list_changed,
                "prompt": agreed.prompts_list_changed,
                "resource": agreed.resources_list_changed,
                "template": agreed.resources_list_changed,
            }[kind]
            return encode_notification(LIST_CHANGED[kind], msgspec.json.encode({"_meta": tag})) if asked else None
