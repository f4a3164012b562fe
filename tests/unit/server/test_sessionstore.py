"""The store of sessions: found by their id, by their own principal, while they are in use."""

import pytest

from limen.errors import Overloaded, SessionNotFound
from limen.server.httpsession import HttpSession, SessionStore
from tests.house import a_caller, a_house
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


def a_store(*, most: int = 10, idle_s: float = 1000.0) -> SessionStore:
    return SessionStore(a_house().surface, most, idle_s, 10)


def a_session(store: SessionStore, subject: str = "local:me") -> HttpSession:
    session = store.create(a_caller(subject))
    store.add(session)
    return session


async def test_a_session_is_found_by_its_id_and_its_principal() -> None:
    store = a_store()
    one, other = a_session(store), a_session(store)
    assert store.get(one.id, "local:me") is one
    assert store.get(other.id, "local:me") is other


@requirement("session.no-session-on-refusal")
async def test_a_session_that_was_never_added_is_not_found() -> None:
    store = a_store()
    session = store.create(a_caller("local:me"))
    with pytest.raises(SessionNotFound):
        store.get(session.id, "local:me")
    assert len(store) == 0


@requirement("session.bound-to-principal")
async def test_another_principal_is_told_the_same_as_for_a_session_that_does_not_exist() -> None:
    store = a_store()
    session, told = a_session(store), list[str]()
    for session_id, subject in ((session.id, "local:you"), ("made-up", "local:you")):
        with pytest.raises(SessionNotFound) as refused:
            store.get(session_id, subject)
        told.append(str(refused.value))
    assert told[0] == told[1]
    assert store.get(session.id, "local:me") is session


@requirement("session.idle-expiry")
async def test_a_session_nobody_used_for_too_long_is_gone() -> None:
    store = a_store(idle_s=-1)
    session = a_session(store)
    with pytest.raises(SessionNotFound):
        store.get(session.id, "local:me")
    store.expire()
    assert len(store) == 0


@requirement("session.idle-expiry")
async def test_a_busy_session_does_not_expire() -> None:
    store = a_store(idle_s=-1)
    session = a_session(store)
    session.busy += 1
    store.expire()
    assert store.get(session.id, "local:me") is session


@requirement("session.delete")
async def test_a_removed_session_is_gone_and_may_be_removed_twice() -> None:
    store = a_store()
    session = a_session(store)
    store.remove(session)
    store.remove(session)
    with pytest.raises(SessionNotFound):
        store.get(session.id, "local:me")


async def test_there_are_only_as_many_as_there_may_be() -> None:
    store = a_store(most=2)
    sessions = [a_session(store), a_session(store)]
    with pytest.raises(Overloaded):
        store.create(a_caller())
    store.remove(sessions[0])
    a_session(store)


async def test_idle_sessions_make_room_for_new_ones() -> None:
    store = a_store(most=2, idle_s=-1)
    for _ in range(5):
        a_session(store)
    assert len(store) <= 2


@requirement("session.unguessable-id")
async def test_every_session_has_an_id_of_its_own() -> None:
    store = a_store(most=100)
    assert len({a_session(store).id for _ in range(100)}) == 100
