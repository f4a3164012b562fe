"""A hint names the service by its domain, and never by a name that only looks like it."""

from limen.gateway.oauth.hints import hint_for


def test_a_known_service_is_known_by_its_domain() -> None:
    assert hint_for("https://mcp.sentry.dev/mcp").startswith("Sentry")
    assert hint_for("https://api.githubcopilot.com/mcp/").startswith("GitHub")
    assert hint_for("https://LINEAR.app/sse").startswith("Linear")


def test_a_name_that_contains_a_service_is_not_the_service() -> None:
    anywhere = hint_for("https://mcp.example.com/mcp")
    assert hint_for("https://notsentry.io.example.com/mcp") == anywhere
    assert hint_for("https://mysentry.io/mcp") == anywhere
