"""How the failure of an upstream is told to whoever called it: whose it is, and what its process said last."""

from collections.abc import Sequence

from limen.errors import ChannelClosed, LimenError, Unreachable
from limen.redact import redact_text
from limen.transport.channel import Channel
from limen.transport.process import ChildChannel

__all__ = ["death_of", "described", "stderr_of"]


def stderr_of(channel: Channel | None) -> Sequence[str]:
    """The last lines a server's process wrote to stderr, without secrets."""
    if not isinstance(channel, ChildChannel):
        return ()
    return [redact_text(line) for line in channel.stderr_tail]


def death_of(server: str, channel: Channel | None, error: LimenError) -> ChannelClosed:
    """The end of a server in the middle of a call."""
    status = channel.exit_status if isinstance(channel, ChildChannel) else None
    how = "has ended" if status is None else f"has ended with status {status}"
    tail = list(stderr_of(channel))
    return ChannelClosed(
        f"{server} {how}; the next call starts it again{_last_words(tail)}",
        server=server,
        exit_status=status,
        stderr_tail=tail,
        reason=str(error),
    )


def described(server: str, channel: Channel | None, error: LimenError) -> LimenError:
    """The same failure, saying whose it is."""
    tail = list(stderr_of(channel))
    facts: dict[str, object] = {**error.facts, "server": server}
    if tail:
        facts["stderr_tail"] = tail
    kind = type(error) if type(error).__init__ is LimenError.__init__ else Unreachable
    return kind(f"{server}: {error}{_last_words(tail)}", **facts)


def _last_words(tail: Sequence[str]) -> str:
    return f"; its last words: {tail[-1]}" if tail else ""
