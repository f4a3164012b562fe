"""Tells the changes of a brain as they happen, each under an id from which a listener can go on later.

An id names a commit and a place in it. It grows, in every process alike, also as text.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from limen.brain.documents.headwatch import HeadWatch
from limen.brain.openbrain import OpenBrain
from limen.brain.ports import DocumentStore
from limen.brain.records import ChangeEvent
from limen.errors import InvalidArguments
from limen.toolsets.storeshapes import Changed, News

__all__ = ["follow"]

EVENTS_AT_ONCE: Final = 256
BEFORE_ALL: Final = "000000000000-0000"
# Longer numbers were never given out, and int() refuses some of them by raising.
_ID: Final = re.compile(r"([0-9]{1,15})-([0-9]{1,9})")

Tell = Callable[[News], Awaitable[None]]
Place = tuple[int, int]
"""The number of a commit, and how many of its events come before this one."""


async def follow(opened: OpenBrain, watch: HeadWatch, after: str | None, quiet_s: float, tell: Tell) -> None:
    """Say `ready`, then every change, and `ping` when it is quiet; never returns by itself.

    Raises:
        InvalidArguments: no listener of this brain was ever given this id.
    """
    heard, ready = await opened.run(_beginning, opened.store, after)
    await tell(News(type="ready", id=ready))
    # The commit that was heard last is looked at again: its other events may have been missed.
    done = heard[0] - 1
    while True:
        head = await watch.wait(done, quiet_s)
        if head <= done:
            await tell(News(type="ping"))
            continue
        found = await opened.run(_events, opened.store, done)
        for place, event in found:
            if place > heard:
                await tell(News(type="change", id=event.id, change=_on_wire(event)))
                heard = place
        done = found[-1][0][0] if found else head


def _beginning(store: DocumentStore, after: str | None) -> tuple[Place, str]:
    """What a listener has heard before it begins, and the id that says so."""
    head = store.head()
    if after is None:
        found = _events(store, head - 1) if head else ()
        return (found[-1][0], found[-1][1].id) if found else ((head, 0), BEFORE_ALL)
    known = _ID.fullmatch(after)
    if known is not None and int(known[1]) <= head:
        return (int(known[1]), int(known[2])), after
    raise InvalidArguments(
        "Last-Event-ID: no event of this brain had this id; leave it out to hear what happens from now on",
        field="Last-Event-ID",
    )


def _events(store: DocumentStore, after: int) -> Sequence[tuple[Place, ChangeEvent]]:
    # Commits come whole, so a place in one is found by counting.
    events: list[tuple[Place, ChangeEvent]] = []
    last, place = -1, 0
    for number, event in store.events(after=max(after, 0), limit=EVENTS_AT_ONCE):
        place = place + 1 if number == last else 0
        last = number
        events.append(((number, place), event))
    return events


def _on_wire(event: ChangeEvent) -> Changed:
    return Changed(kind=event.kind, path=event.path, old_path=event.old_path, reason=event.reason, when=event.when)
