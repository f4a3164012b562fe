"""How a client finds out which revision a server speaks: `server/discover` first, `initialize` where that fails."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from limen.errors import LimenError, RemoteError, RequestTimeout, Unreachable, UnsupportedVersion, UpstreamError
from limen.protocol import codes
from limen.protocol.versions import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_VERSION,
    SESSION_REVISION,
    STATELESS_REVISION,
    TOLERATED_UPSTREAM,
    Revision,
)

__all__ = ["Agreement", "ClientProfile", "agree", "with_envelope"]

log = logging.getLogger(__name__)

Ask = Callable[[str, bytes], Awaitable[bytes]]
"""Method and params in, raw result out."""

_MODERN_ERRORS: Final = frozenset({codes.HEADER_MISMATCH, codes.MISSING_CLIENT_CAPABILITY, codes.UNSUPPORTED_VERSION})


@dataclass(frozen=True, slots=True)
class ClientProfile:
    """Who the client is and what it can be asked."""

    name: str
    version: str
    capabilities: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def info(self) -> dict[str, str]:
        """As both revisions want it."""
        return {"name": self.name, "version": self.version}

    def envelope(self) -> dict[str, Any]:
        """What every stateless request says of its sender."""
        return {
            META_VERSION: STATELESS_REVISION,
            META_CLIENT_INFO: self.info,
            META_CLIENT_CAPABILITIES: self.capabilities,
        }


@dataclass(frozen=True, slots=True)
class Agreement:
    """What both sides speak; `greeting` is the raw result that settled it."""

    version: str
    greeting: bytes

    @property
    def is_stateless(self) -> bool:
        """Whether every request carries its own envelope."""
        return self.version == STATELESS_REVISION


class _Discovered(msgspec.Struct, rename="camel"):
    supported_versions: list[str]


class _Initialized(msgspec.Struct, rename="camel"):
    protocol_version: str


class _Supported(msgspec.Struct):
    supported: list[str] = []


def with_envelope(params: bytes, envelope: dict[str, Any]) -> bytes:
    """The params with the envelope in their `_meta`, beside what is there already."""
    fields = msgspec.json.decode(params, type=dict[str, msgspec.Raw])
    meta = msgspec.json.decode(fields.get("_meta", msgspec.Raw(b"{}")), type=dict[str, msgspec.Raw])
    merged = {**meta, **{key: msgspec.Raw(msgspec.json.encode(value)) for key, value in envelope.items()}}
    return msgspec.json.encode({**fields, "_meta": merged})


async def agree(ask: Ask, profile: ClientProfile, revisions: Sequence[Revision]) -> Agreement:
    """Settle on a revision, the newest of those allowed that the server has.

    Raises:
        UnsupportedVersion: there is none.
    """
    if STATELESS_REVISION in revisions:
        found = await _discover(ask, profile, is_last_word=SESSION_REVISION not in revisions)
        if found is not None:
            return found
    if SESSION_REVISION not in revisions:
        raise UnsupportedVersion(f"the server does not speak {STATELESS_REVISION}", supported=list(revisions))
    return await _initialize(ask, profile)


async def _discover(ask: Ask, profile: ClientProfile, *, is_last_word: bool) -> Agreement | None:
    params = with_envelope(b"{}", profile.envelope())
    try:
        try:
            greeting = await ask("server/discover", params)
        except RemoteError as error:
            if STATELESS_REVISION not in _supported(error):
                raise
            # It has what we asked for and refused it all the same; the revision says to ask again.
            greeting = await ask("server/discover", params)
    except (RemoteError, UpstreamError, RequestTimeout, Unreachable) as error:
        if is_last_word or not _is_legacy(error):
            raise
        log.info("server has no discovery, trying initialize", extra={"reason": str(error)})
        return None
    try:
        versions = msgspec.json.decode(greeting, type=_Discovered).supported_versions
    except msgspec.DecodeError as error:
        # It answers whatever it is asked, and knows nothing of this.
        if is_last_word:
            raise UpstreamError(f"the answer to server/discover is none: {error}", method="server/discover") from None
        log.info("server's discovery is none, trying initialize", extra={"reason": str(error)})
        return None
    return Agreement(STATELESS_REVISION, greeting) if STATELESS_REVISION in versions else None


def _supported(error: RemoteError) -> list[str]:
    if error.rpc_code != codes.UNSUPPORTED_VERSION or error.data is None:
        return []
    try:
        return msgspec.json.decode(error.data, type=_Supported).supported
    except msgspec.DecodeError:
        return []


def _is_legacy(error: LimenError) -> bool:
    """Whether this is how a server that knows only sessions greets a stateless request."""
    if isinstance(error, RemoteError):
        # One that names only older revisions is a modern server with an older heart.
        return error.rpc_code not in _MODERN_ERRORS or bool(_supported(error))
    if isinstance(error, Unreachable):
        return error.facts.get("status") in (404, 405)
    return True


async def _initialize(ask: Ask, profile: ClientProfile) -> Agreement:
    hello = {"protocolVersion": SESSION_REVISION, "capabilities": profile.capabilities, "clientInfo": profile.info}
    greeting = await ask("initialize", msgspec.json.encode(hello))
    try:
        version = msgspec.json.decode(greeting, type=_Initialized).protocol_version
    except msgspec.DecodeError as error:
        raise UpstreamError(f"the answer to initialize is none: {error}", method="initialize") from None
    if version not in TOLERATED_UPSTREAM:
        raise UnsupportedVersion(f"the server wants to speak {version!r}", supported=list(TOLERATED_UPSTREAM))
    return Agreement(version, greeting)
