"""Listeners hear that a brain moved, and the store is asked once for all of them."""

import asyncio

import pytest

from limen.brain.documents.headwatch import HeadWatch

pytestmark = pytest.mark.anyio


class Brain:
    """A head that a test moves, and how often somebody looked."""

    def __init__(self) -> None:
        self.head = 3
        self.looks = 0
        self.looked = asyncio.Event()

    async def look(self) -> int:
        self.looks += 1
        self.looked.set()
        return self.head


async def test_a_commit_that_is_there_already_is_not_waited_for() -> None:
    brain = Brain()
    assert await HeadWatch(brain.look).wait(2, 60) == 3


async def test_a_commit_that_comes_ends_the_wait() -> None:
    brain = Brain()
    watch = HeadWatch(brain.look, every_s=0.001)
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(watch.wait(3, 60)) for _ in range(3)]
        await brain.looked.wait()
        brain.head = 4
    assert [task.result() for task in waiting] == [4, 4, 4]


async def test_a_wait_ends_with_its_time() -> None:
    brain = Brain()
    assert await HeadWatch(brain.look, every_s=0.001).wait(3, 0.01) == 3


async def test_many_listeners_look_as_often_as_one() -> None:
    brain = Brain()
    watch = HeadWatch(brain.look, every_s=60)
    async with asyncio.TaskGroup() as group:
        for _ in range(50):
            group.create_task(watch.wait(3, 0))
    assert brain.looks == 1
