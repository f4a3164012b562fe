"""A 2025-11-25 session carried by HTTP: its streams, its idle clock, and the store that finds it by its id."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from limen.calls.call import Caller
from limen.clock import monotonic
from limen.errors import Overloaded, SessionNotFound
from limen.ids import SessionId, new_session_id
from limen.protocol.frames import Notification, Request
from limen.server.events import LIVE, EventLog, Reader
from limen.server.session import Session
from limen.server.surface import Surface
from limen.transport.dispatcher import Dispatcher, Outlet

__all__ = ["HttpSession", "PostStream", "SessionStore"]


class HttpSession:
    """One client over HTTP: requests come one by one, everything else goes out on event streams."""

    def __init__(self, surface: Surface, caller: Caller, event_buffer: int) -> None:
        self.id: SessionId = new_session_id()
        self.events = EventLog(event_buffer)
        self.dispatcher = Dispatcher(self, self.publish, surface.limits)
        self.session = Session(surface, caller, self.dispatcher, self._tell)
        self.session.announces = True
        self.last_used = monotonic()
        self.busy = 0
        """Requests and streams open now; a busy session does not expire."""

    @property
    def subject(self) -> str:
        """The principal this session belongs to."""
        return self.session.caller.subject

    def _tell(self, frame: bytes) -> None:
        self.events.publish(LIVE, frame)

    async def publish(self, frame: bytes) -> None:
        """Send a frame that belongs to no request."""
        self._tell(frame)

    def answer(self, request: Request, outlet: Outlet) -> Awaitable[bytes | None]:
        """The reply to one request."""
        return self.session.answer(request, outlet)

    def withdrawn(self, request: Request) -> bytes | None:
        """The reply to a cancelled request."""
        return self.session.withdrawn(request)

    def hear(self, notification: Notification) -> None:
        """Take note of what the client tells."""
        self.session.hear(notification)

    def close(self) -> None:
        """End every stream, every call in flight and whatever waits."""
        self.session.close()
        self.dispatcher.withdraw_all()
        self.dispatcher.close()
        self.events.close()


class PostStream:
    """Where one request's messages go, numbered so that a client can come back for them."""

    def __init__(self, session: HttpSession, make_reader: Callable[[], Reader]) -> None:
        self.on_open: Callable[[], None] | None = None
        self._session = session
        self._make_reader = make_reader
        self._name = ""
        self._reader: Reader | None = None

    @property
    def is_open(self) -> bool:
        """Whether the answer is an event stream by now."""
        return self._reader is not None

    async def __call__(self, frame: bytes) -> None:
        self.open()
        self._session.events.publish(self._name, frame)

    def open(self) -> Reader:
        """From here on the answer is an event stream, and this is what its response reads from."""
        if self._reader is None:
            events = self._session.events
            self._name = events.open()
            self._reader = self._make_reader()
            events.attach(self._name, self._reader)
            self._reader.push(events.primer(self._name))
            if self.on_open is not None:
                self.on_open()
        return self._reader

    async def release(self) -> None:
        """End the response but not the request: the client comes back with the id it was given."""
        self.open()
        self._session.events.detach(self._name)

    def end(self, reply: bytes) -> None:
        """The last message: the reply itself."""
        self._session.events.publish(self._name, reply, last=True)


@dataclass(slots=True)
class SessionStore:
    """Sessions by id, each for its own principal only."""

    surface: Surface
    max_sessions: int
    idle_s: float
    event_buffer: int
    _sessions: dict[str, HttpSession] = field(default_factory=dict[str, HttpSession])

    def create(self, caller: Caller) -> HttpSession:
        """A session not yet in the store; `add` it once it is initialized.

        Raises:
            Overloaded: there are as many as there may be.
        """
        if len(self._sessions) >= self.max_sessions:
            self.expire()
        if len(self._sessions) >= self.max_sessions:
            raise Overloaded(f"{self.max_sessions} sessions are open; try again later or raise server.max_sessions")
        return HttpSession(self.surface, caller, self.event_buffer)

    def add(self, session: HttpSession) -> None:
        """Make a session reachable by its id."""
        self._sessions[session.id] = session

    def get(self, session_id: str, subject: str) -> HttpSession:
        """The session with this id, for the principal who opened it.

        Raises:
            SessionNotFound: unknown, expired, or another principal's; which of these is not told.
        """
        session = self._sessions.get(session_id)
        if session is None or session.subject != subject or self._is_stale(session):
            raise SessionNotFound("no such session; initialize a new one")
        session.last_used = monotonic()
        return session

    def remove(self, session: HttpSession) -> None:
        """End a session."""
        self._sessions.pop(session.id, None)
        session.close()

    def expire(self) -> None:
        """End the sessions nobody has used for too long."""
        for session in [session for session in self._sessions.values() if self._is_stale(session)]:
            self.remove(session)

    def _is_stale(self, session: HttpSession) -> bool:
        return session.busy == 0 and monotonic() - session.last_used > self.idle_s

    def hush(self) -> None:
        """End the streams that would never end by themselves; calls in flight may still be answered."""
        for session in self._sessions.values():
            session.events.detach(LIVE)

    def close(self) -> None:
        """End them all."""
        for session in list(self._sessions.values()):
            self.remove(session)

    def __len__(self) -> int:
        return len(self._sessions)
