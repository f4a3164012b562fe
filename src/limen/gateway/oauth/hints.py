"""Where a person finds a token by hand, for services that issue them; says nothing of services it does not know."""

from typing import Final
from urllib.parse import urlsplit

__all__ = ["hint_for"]

_ANYWHERE: Final = "Look for API keys or access tokens in the account settings of the service."

_HINTS: Final = {
    "atlassian.com": "Atlassian: Account settings, Security, API tokens.",
    "atlassian.net": "Atlassian: Account settings, Security, API tokens.",
    "cloudflare.com": "Cloudflare: My Profile, API Tokens, Create Token.",
    "datadoghq.com": "Datadog: Organization Settings, Application Keys.",
    "figma.com": "Figma: Settings, Security, Personal access tokens.",
    "github.com": "GitHub: Settings, Developer settings, Personal access tokens.",
    "githubcopilot.com": "GitHub: Settings, Developer settings, Personal access tokens.",
    "gitlab.com": "GitLab: Preferences, Access tokens; `read_api` is enough to read.",
    "grafana.net": "Grafana: Administration, Service accounts, Add token.",
    "honeycomb.io": "Honeycomb: Environment settings, API Keys; a management key for MCP.",
    "huggingface.co": "Hugging Face: Settings, Access Tokens.",
    "linear.app": "Linear: Settings, Security & access, Personal API keys.",
    "notion.com": "Notion: Settings, Connections, develop an internal integration and copy its secret.",
    "pagerduty.com": "PagerDuty: My Profile, User Settings, Create API User Token.",
    "sentry.dev": "Sentry: User settings, Auth Tokens; `org:read` and `project:read` at the least.",
    "sentry.io": "Sentry: User settings, Auth Tokens; `org:read` and `project:read` at the least.",
    "slack.com": "Slack: your app's page, OAuth & Permissions, the token that begins with xoxb- or xoxp-.",
    "stripe.com": "Stripe: Developers, API keys; a restricted key is the safer choice.",
    "supabase.com": "Supabase: Account, Access Tokens.",
    "vercel.com": "Vercel: Account Settings, Tokens.",
}


def hint_for(url: str) -> str:
    """One line on where to get a token for the server at `url`."""
    labels = (urlsplit(url).hostname or "").lower().split(".")
    domains = (".".join(labels[start:]) for start in range(len(labels)))
    return next((_HINTS[domain] for domain in domains if domain in _HINTS), _ANYWHERE)
