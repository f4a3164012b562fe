"""The feed of changes: everyone hears, in order, until they stop."""

from limen.calls.changes import Change, ChangeFeed, ListChanged, ResourceUpdated

TOOLS, NOTE = ListChanged("tool"), ResourceUpdated("x://note")


def test_everyone_hears_every_change_in_order() -> None:
    feed, one, other = ChangeFeed(), list[Change](), list[Change]()
    feed.listen(one.append)
    feed.publish(TOOLS)
    feed.listen(other.append)
    feed.publish(NOTE)
    assert (one, other) == ([TOOLS, NOTE], [NOTE])


def test_who_stopped_hears_no_more_and_may_stop_twice() -> None:
    feed, heard = ChangeFeed(), list[Change]()
    stop = feed.listen(heard.append)
    feed.publish(TOOLS)
    stop()
    stop()
    feed.publish(NOTE)
    assert heard == [TOOLS]


def test_stopping_one_listener_leaves_the_others() -> None:
    feed, heard = ChangeFeed(), list[Change]()
    stop = feed.listen(lambda _: None)
    feed.listen(heard.append)
    stop()
    feed.publish(TOOLS)
    assert heard == [TOOLS]


def test_a_listener_may_stop_while_it_is_told() -> None:
    feed, heard = ChangeFeed(), list[Change]()

    def once(change: Change) -> None:
        heard.append(change)
        stop()

    stop = feed.listen(once)
    feed.listen(heard.append)
    feed.publish(TOOLS)
    feed.publish(NOTE)
    assert heard == [TOOLS, TOOLS, NOTE]


def test_a_resource_is_abandoned_when_the_last_of_its_followers_is_gone() -> None:
    feed, abandoned = ChangeFeed(), list[str]()
    feed.on_abandoned = abandoned.append
    one, other = feed.follow("x://note"), feed.follow("x://note")
    one()
    assert (abandoned, feed.is_followed("x://note")) == ([], True)
    other()
    assert (abandoned, feed.is_followed("x://note")) == (["x://note"], False)
