"""One upstream server's life: started when it is needed, shared by all who call it, tried again when it failed."""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, Literal

import msgspec

from limen.config.model import ServerEntry
from limen.errors import (
    ChannelClosed,
    LimenError,
    RequestTimeout,
    SessionNotFound,
    TooLarge,
    Unreachable,
    UpstreamTimeout,
)
from limen.gateway.attending import Attendant
from limen.gateway.backoff import Backoff
from limen.gateway.cache import Kept, digest_of
from limen.gateway.definitions import Definitions, read_definitions
from limen.gateway.floor import Floor, Manner
from limen.gateway.house import House
from limen.gateway.idling import Usage
from limen.gateway.link import Link
from limen.gateway.reaching import LIMITS, open_channel
from limen.gateway.talk import Talk
from limen.gateway.telling import death_of, described, stderr_of
from limen.gateway.turns import Turns
from limen.protocol.versions import SERVED, SESSION_REVISION, STATELESS_REVISION, Revision
from limen.transport.channel import Attributing, Channel
from limen.transport.client import McpClient, open_client

__all__ = ["State", "Upstream"]

log = logging.getLogger(__name__)

HANDSHAKE_S: Final = 30.0
CLOSE_S: Final = 8.0

_ID: Final = re.compile(rb'"id"\s*:\s*([0-9]+)')

State = Literal["idle", "starting", "ready", "failed", "closed"]


class Upstream:
    """One configured server."""

    def __init__(self, name: str, entry: ServerEntry, house: House) -> None:
        self.name = name
        self.entry = entry
        self.usage = Usage()
        self.last_error = ""
        self.junk = 0
        """Lines on its stdout that were no messages, over all its lives."""
        self._house = house
        self._digest = digest_of(entry)
        kept = house.cache.find(name, self._digest)
        self.definitions: Definitions | None = kept.definitions if kept else None
        self._manners: dict[str, Manner] = dict(kept.manners) if kept else {}
        self._turns = Turns(entry.max_concurrency)
        self._backoff = Backoff()
        self._link: Link | None = None
        self._channel: Channel | None = None
        self._opening: asyncio.Future[Link] | None = None
        self._lives: set[asyncio.Task[None]] = set()
        """The connection there is, and those before it that are still being ended."""
        self._stop = asyncio.Event()
        self._discovered = asyncio.Event()
        self._regreeting: asyncio.Task[None] | None = None
        self._attendant = Attendant(name, self._learnt)
        self._is_closed = False

    @property
    def state(self) -> State:
        """Where it is in its life."""
        if self._is_closed:
            return "closed"
        if self._link is not None:
            return "ready"
        if self._opening is not None:
            return "starting"
        return "failed" if self._backoff.failures else "idle"

    @property
    def stderr_tail(self) -> Sequence[str]:
        """The last lines its process wrote to stderr, without secrets."""
        return stderr_of(self._channel)

    @property
    def is_stateless(self) -> bool:
        """Whether the connection speaks the stateless revision."""
        return self._link is not None and self._client(self._link).agreement.is_stateless

    async def connect(self) -> Link:
        """The connection, opened if there is none; everybody who needs it waits for the same one.

        Raises:
            LimenError: it cannot be opened, or failed so often that it is not tried now.
        """
        if self._link is not None and not self._link.is_over:
            return self._link
        if self._opening is None:
            self._check_worth_trying()
            self._opening = asyncio.get_running_loop().create_future()
            # Looked at, so that a failure that nobody waits for is not reported as forgotten.
            self._opening.add_done_callback(lambda opening: opening.cancelled() or opening.exception())
            self._stop = asyncio.Event()
            life = asyncio.get_running_loop().create_task(self._live(self._opening, self._stop))
            self._lives.add(life)
            life.add_done_callback(self._lives.discard)
        return await asyncio.shield(self._opening)

    def _check_worth_trying(self) -> None:
        if self._is_closed:
            raise ChannelClosed(f"{self.name} is being closed", server=self.name)
        wait_s = self._backoff.wait_s()
        if wait_s:
            raise Unreachable(
                f"{self.name} failed {self._backoff.failures} times in a row and is tried again in {wait_s:.0f} s; "
                f"the last time: {self.last_error}",
                server=self.name,
                retry_after_s=round(wait_s),
            )

    @property
    def is_worth_trying(self) -> bool:
        """Whether it is connected, or did not fail so lately that connecting is put off."""
        return self._link is not None or not self._backoff.wait_s()

    async def request(self, talk: Talk, method: str, build: Callable[[str], bytes]) -> bytes:
        """Ask it on behalf of a caller; `build` gives the params in the revision that is spoken.

        Raises:
            RemoteError: it answered with an error.
            UpstreamTimeout: it did not answer in time.
            ChannelClosed: it died meanwhile.
            Unreachable: it cannot be started.
        """
        self.usage.note()
        if not self._turns.try_enter():
            await self._turns.enter(id(talk.exchange.session))
        try:
            link = self._link
            if link is None or link.is_over:
                link = await self._connect_in_time()
            try:
                result = await link.request(talk, method, build(self._version(link)), self.entry.timeout_s)
            except SessionNotFound:
                # It has forgotten us, and did not do what was asked: once more, as a new acquaintance.
                await self._greet_again(link)
                result = await link.request(talk, method, build(self._version(link)), self.entry.timeout_s)
        except RequestTimeout as error:
            raise UpstreamTimeout(f"{self.name}: {error}", server=self.name) from error
        except ChannelClosed as error:
            raise death_of(self.name, self._channel, error) from error
        finally:
            self._turns.leave()
            self.usage.rest()
        self._backoff.went_well()
        return result

    async def _connect_in_time(self) -> Link:
        """The connection, for a call: its own time goes on while the server starts, and the start outlives it."""
        timeout_s = self.entry.timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                return await self.connect()
        except TimeoutError:
            raise UpstreamTimeout(f"{self.name} has not started within {timeout_s:g} s", server=self.name) from None

    async def subscribe(self, uri: str, talk: Talk) -> None:
        """Have it tell when a resource is updated; returns when it will.

        Raises:
            LimenError: it cannot be reached, or refuses.
        """
        await self._connect_in_time()
        is_news = self._attendant.want(uri)
        if self.is_stateless:
            await self._attendant.told()
        elif is_news:
            try:
                await self.request(talk, "resources/subscribe", lambda _: msgspec.json.encode({"uri": uri}))
            except BaseException:
                self._attendant.unwant(uri)
                raise

    async def unsubscribe(self, uri: str) -> None:
        """Nobody wants to hear of a resource any more."""
        if not self._attendant.unwant(uri) or self._link is None or self.is_stateless:
            return
        try:
            await self._client(self._link).request("resources/unsubscribe", msgspec.json.encode({"uri": uri}))
        except LimenError as error:
            log.info("upstream not unsubscribed from", extra={"server": self.name, "reason": str(error)})

    async def discovered(self) -> None:
        """Wait until its definitions are known, starting it if need be.

        Raises:
            LimenError: it cannot be reached.
        """
        if self.definitions is None:
            await self.connect()
            await self._discovered.wait()

    async def refresh(self) -> Definitions:
        """Read its definitions now.

        Raises:
            LimenError: it cannot be reached, or says what cannot be used.
        """
        link = await self.connect()
        self._take_up(await read_definitions(self._client(link)))
        assert self.definitions is not None
        return self.definitions

    def retry(self) -> None:
        """Forget what went wrong: somebody has mended something, or wants to know now."""
        self._backoff.reset()

    def is_idle(self) -> bool:
        """Whether it has had nothing to do for long enough to be stopped."""
        return (
            self._link is not None
            and not self._link.in_flight
            and not self._turns.waiting
            and not self._attendant.has_listeners
            and self.usage.is_idle(self.entry)
        )

    async def stop(self) -> None:
        """End its connection and its process; the next call starts it again."""
        self._stop.set()
        self._link = None
        for life in self._lives if self._opening is not None else ():
            # In its handshake it listens to nothing else.
            life.cancel()
        if self._lives:
            _, late = await asyncio.wait(self._lives, timeout=CLOSE_S)
            for life in late:
                life.cancel()
            if late:
                await asyncio.wait(late, timeout=CLOSE_S)

    async def close(self) -> None:
        """End it for good."""
        self._is_closed = True
        await self.stop()

    def list_changed(self, method: str) -> None:
        """One of its lists is not what it was."""
        self._attendant.list_changed()

    def listening(self) -> None:
        """It tells from now on what it was last asked to tell."""
        self._attendant.acknowledged()

    def resource_updated(self, uri: str) -> None:
        """A resource of it was updated."""
        self._house.updated(self, uri)

    def _note_junk(self, line: bytes, error: LimenError) -> None:
        if isinstance(error, TooLarge) and self._fail_oversized(line):
            return
        self.junk += 1
        if self.junk <= 3:
            log.warning("upstream wrote what is no message", extra={"server": self.name, "reason": str(error)})

    def _fail_oversized(self, head: bytes) -> bool:
        """Tell the one whose answer was too long to be kept, where the answer's beginning says who that is."""
        if self._link is None:
            return False
        client, found = self._client(self._link), _ID.search(head)
        told = TooLarge(f"{self.name}: its answer is longer than {LIMITS.frame_bytes:,} bytes", server=self.name)
        if found is None:
            return client.fail_lone(told)
        client.fail(int(found[1]), told)
        return True

    async def _live(self, opening: "asyncio.Future[Link]", stop: asyncio.Event) -> None:
        """Be connected, from the handshake until nobody needs it or it ends by itself."""
        if self.definitions is None:
            self._discovered.clear()
        try:
            async with self._open() as (link, client):
                self._link, self._opening = link, None
                self.last_error = ""
                self.usage.rest()
                opening.set_result(link)
                try:
                    await self._attendant.attend(client, stop)
                finally:
                    self._part(link, stop)
        except asyncio.CancelledError:
            if not opening.done():
                opening.set_exception(ChannelClosed(f"{self.name} was stopped", server=self.name))
            raise
        except LimenError as error:
            self._fail(opening, error)
        except Exception as error:
            # The supervisor: a bug must reach those who wait and the log.
            log.exception("connection to an upstream failed", extra={"server": self.name})
            self._fail(opening, Unreachable(f"internal error: {error!r}"))
        finally:
            self._discovered.set()
            if self._opening is opening:
                self._opening = None

    def _part(self, link: Link, stop: asyncio.Event) -> None:
        """Send nobody there any more: to end a process takes time, and the next call should not wait for it."""
        if self._link is link:
            self._link = None
        if not stop.is_set():
            self._note_end()

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[tuple[Link, McpClient]]:
        auth = self._house.authorizer(self.name, self.entry)
        async with open_channel(self.entry, self._house.environment, auth) as channel:
            self._channel = channel
            floor = None if self.entry.cli or isinstance(channel, Attributing) else Floor(self._manners)
            link = Link(self, self._house.roots, floor)
            async with open_client(
                channel,
                self._house.profile,
                link,
                revisions=self._revisions(),
                timeout_s=HANDSHAKE_S,
                limits=LIMITS,
                on_junk=self._note_junk,
            ) as client:
                link.client = client
                yield link, client

    def _revisions(self) -> Sequence[Revision]:
        if self.entry.protocol != "auto":
            return (self.entry.protocol,)
        known = self.definitions.version if self.definitions else ""
        # A server that was met before is not asked twice which revision it speaks.
        return (SESSION_REVISION,) if known and known != STATELESS_REVISION and not self.last_error else SERVED

    def _learnt(self, found: Definitions | None, reason: str) -> None:
        if found is not None:
            self._take_up(found)
        else:
            self.last_error = reason
        self._discovered.set()

    def _take_up(self, found: Definitions) -> None:
        before, self.definitions = self.definitions, found
        self._discovered.set()
        if found != before:
            self._house.cache.keep(self.name, Kept(self._digest, found, self._manners))
            self._house.changed(self)

    async def _greet_again(self, link: Link) -> None:
        if self._regreeting is None or self._regreeting.done():
            self._regreeting = asyncio.get_running_loop().create_task(self._regreet(self._client(link)))
        await asyncio.shield(self._regreeting)

    async def _regreet(self, client: McpClient) -> None:
        await client.shake_hands(self._revisions())
        await self._attendant.settle_in(client)

    def _version(self, link: Link) -> str:
        return self._client(link).agreement.version

    def _client(self, link: Link) -> McpClient:
        assert link.client is not None
        return link.client

    def _note_end(self) -> None:
        self._backoff.died()
        self.last_error = str(death_of(self.name, self._channel, ChannelClosed("it ended")))
        log.warning("upstream ended by itself", extra={"server": self.name, "reason": self.last_error})

    def _fail(self, opening: "asyncio.Future[Link]", error: LimenError) -> None:
        self._backoff.did_not_start()
        told = described(self.name, self._channel, error)
        self.last_error = str(told)
        self._discovered.set()
        if not opening.done():
            opening.set_exception(told)
