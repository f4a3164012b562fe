"""The two revisions Limen serves, and those it tolerates from upstreams."""

from typing import Final, Literal

Revision = Literal["2025-11-25", "2026-07-28"]

SESSION_REVISION: Final = "2025-11-25"
"""Sessions and `initialize`."""
STATELESS_REVISION: Final = "2026-07-28"
"""Every request carries its own envelope in `_meta`."""

SERVED: Final[tuple[Revision, ...]] = (SESSION_REVISION, STATELESS_REVISION)
TOLERATED_UPSTREAM: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

META_PREFIX: Final = "io.modelcontextprotocol/"
META_VERSION: Final = META_PREFIX + "protocolVersion"
META_CLIENT_INFO: Final = META_PREFIX + "clientInfo"
META_CLIENT_CAPABILITIES: Final = META_PREFIX + "clientCapabilities"
META_LOG_LEVEL: Final = META_PREFIX + "logLevel"
META_SERVER_INFO: Final = META_PREFIX + "serverInfo"
META_SUBSCRIPTION: Final = META_PREFIX + "subscriptionId"
