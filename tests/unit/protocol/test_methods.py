"""The method tables: what each revision has, and what it has no more."""

from limen.protocol.methods import CACHEABLE, LOG_LEVELS, NAMED_BY, SESSION_REQUESTS, STATELESS_REQUESTS
from tests.requirements import requirement


@requirement("wire.revisions")
def test_what_the_stateless_revision_removed_is_not_in_its_table() -> None:
    removed, added = SESSION_REQUESTS - STATELESS_REQUESTS, STATELESS_REQUESTS - SESSION_REQUESTS
    assert sorted(removed) == [
        "initialize",
        "logging/setLevel",
        "ping",
        "resources/subscribe",
        "resources/unsubscribe",
    ]
    assert sorted(added) == ["server/discover", "subscriptions/listen"]


@requirement("wire.revisions")
def test_only_what_exists_is_cached_or_named_in_a_header() -> None:
    assert CACHEABLE <= STATELESS_REQUESTS
    assert NAMED_BY.keys() <= STATELESS_REQUESTS


def test_log_levels_go_from_chatty_to_quiet() -> None:
    assert LOG_LEVELS[0] == "debug"
    assert LOG_LEVELS[-1] == "emergency"
    assert len(set(LOG_LEVELS)) == 8
