"""Which methods exist in which revision, and which field of a request names its target."""

from typing import Final

SESSION_REQUESTS: Final = frozenset(
    {
        "initialize",
        "ping",
        "logging/setLevel",
        "completion/complete",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "resources/subscribe",
        "resources/unsubscribe",
        "tools/list",
        "tools/call",
    }
)
"""Requests a 2025-11-25 client may send."""

STATELESS_REQUESTS: Final = frozenset(
    {
        "server/discover",
        "subscriptions/listen",
        "completion/complete",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "tools/list",
        "tools/call",
    }
)
"""Requests a 2026-07-28 client may send."""

CACHEABLE: Final = frozenset(
    {
        "server/discover",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "tools/list",
    }
)
"""Results that carry `ttlMs` and `cacheScope` in 2026-07-28."""

NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that 2026-07-28 clients repeat in the `Mcp-Name` header."""

LOG_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""From chatty to quiet, as in syslog."""
