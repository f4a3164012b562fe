"""One realistic file of every format that is read, and what Limen makes of it."""

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from limen.config.syntax import Syntax


@dataclass(frozen=True, slots=True)
class Sample:
    """A file, where its servers are, and what they become."""

    file: str
    text: str
    section: tuple[str, ...]
    servers: dict[str, dict[str, Any]]
    left_out: tuple[str, ...] = ()
    format: str = ""
    syntax: Syntax = "json"
    told: tuple[str, ...] = field(default=())
    """Words that must be in the notes."""

    @property
    def path(self) -> PurePosixPath:
        """The file as the reader gets it."""
        return PurePosixPath(self.file)


SERVERS_JSON = Sample(
    file="/home/you/.config/mcp/servers.json",
    format="servers-json",
    section=("mcpServers",),
    text="""\
{
  // what I use every day
  "mcpServers": {
    "sentry": {"url": "https://mcp.sentry.dev/mcp", "headers": {"Authorization": "Bearer ${SENTRY_TOKEN}"}},
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "${HOME}/notes"], /* only notes */
      "idle_timeout": "never",
    },
    "kubectl": {"command": "kubectl", "cli": true, "cli_depth": 3, "cli_only": ["get"], "tool_acl": {"read": ["*"]}}
  },
  "serverAuth": {"providers": ["none"]}
}
""",
    servers={
        "sentry": {"url": "https://mcp.sentry.dev/mcp", "headers": {"Authorization": "Bearer ${SENTRY_TOKEN}"}},
        "files": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-filesystem", "${HOME}/notes"],
            "idle_timeout": "never",
        },
        "kubectl": {"command": "kubectl", "cli": True, "cli_depth": 3, "cli_only": ["get"]},
    },
    told=("serverAuth", "tool_acl"),
)

SIDEKICK = Sample(
    file="/home/you/.binaryninja/sidekick/config/mcp_tools_config.json",
    format="sidekick",
    section=("servers",),
    text="""\
{
  "version": "1.0",
  "servers": [
    {
      "name": "git",
      "tags": ["mcp.git"],
      "server_config": {
        "command": ["uvx", "mcp-server-git", "--repository", "/srv/repo"],
        "env": {"GIT_CONFIG_GLOBAL": "/dev/null"},
        "timeout": 30
      },
      "tools": [
        {"name": "git_log"},
        {"name": "git_diff", "alias": "changes", "tags": ["mcp.git.read"]},
        {"name": "git_push", "enabled": false}
      ]
    },
    {
      "name": "sample_mcp_server",
      "enabled": false,
      "server_config": {"command": ["python3", "/srv/mcp_test_server.py"]},
      "tools": [{"name": "echo"}]
    }
  ]
}
""",
    servers={
        "git": {
            "command": "uvx",
            "args": ["mcp-server-git", "--repository", "/srv/repo"],
            "env": {"GIT_CONFIG_GLOBAL": "/dev/null"},
            "tags": ["mcp.git"],
            "tools": [
                {"name": "git_log"},
                {"name": "git_diff", "alias": "changes", "tags": ["mcp.git.read"]},
                {"name": "git_push", "enabled": False},
            ],
        },
        "sample_mcp_server": {
            "command": "python3",
            "args": ["/srv/mcp_test_server.py"],
            "enabled": False,
            "tools": [{"name": "echo"}],
        },
    },
    told=("timeout",),
)

SECONDBRAIN = Sample(
    file="/srv/secondbrain/config.yaml",
    format="secondbrain",
    syntax="yaml",
    section=("control_plane", "mcp_servers"),
    text="""\
control_plane:
  mcp_stdio_allowed_commands: [uvx]
  mcp_servers:
    - name: example
      transport: stdio
      command: uvx
      args: [example-mcp-server]
      stdio_allowed_commands: [uvx]
      manifest_digest: sha256:00
      sandbox_profile: restricted
      client_consent: approved
      enabled: true
    - name: web
      transport: streamable_http
      url: https://mcp.example.com/mcp
      enabled: false
    - name: listed
      command: [uvx, other-server]
""",
    servers={
        "example": {"command": "uvx", "args": ["example-mcp-server"]},
        "web": {"url": "https://mcp.example.com/mcp", "enabled": False},
    },
    left_out=("listed",),
    told=("manifest_digest", "sandbox_profile", "mcp_stdio_allowed_commands"),
)

FOLDED_IN = [SERVERS_JSON, SIDEKICK, SECONDBRAIN]

CLAUDE_CODE = Sample(
    file="/home/you/.claude.json",
    format="claude-code",
    section=("mcpServers",),
    text="""\
{
  "numStartups": 41,
  "mcpServers": {
    "everything": {"type": "stdio", "command": "npx", "args": ["-y", "server-everything"], "env": {}},
    "docs": {"type": "http", "url": "https://docs.example.com/mcp", "headers": {"X-Team": "${TEAM:-core}"}},
    "limen": {"type": "stdio", "command": "limen", "args": ["stdio"], "env": {}}
  },
  "projects": {
    "/srv/shop": {
      "mcpServers": {"shop": {"command": "./tools/mcp", "args": ["--fast"], "timeout": 600000}},
      "disabledMcpServers": ["docs"]
    },
    "/srv/other": {"mcpServers": {"other": {"command": "other-mcp"}}}
  }
}
""",
    servers={
        "everything": {"command": "npx", "args": ["-y", "server-everything"]},
        "docs": {"url": "https://docs.example.com/mcp", "headers": {"X-Team": "${TEAM:-core}"}, "enabled": False},
        "shop": {"command": "./tools/mcp", "args": ["--fast"], "cwd": "/srv/shop", "timeout": "600s"},
    },
    left_out=("limen",),
    told=("--all",),
)

CLAUDE_DESKTOP = Sample(
    file="/home/you/.config/Claude/claude_desktop_config.json",
    format="claude-desktop",
    section=("mcpServers",),
    text='{"mcpServers": {"memory": {"command": "npx", "args": ["-y", "server-memory"]}}, "scale": 1}\n',
    servers={"memory": {"command": "npx", "args": ["-y", "server-memory"]}},
)

CURSOR = Sample(
    file="/home/you/.cursor/mcp.json",
    format="cursor",
    section=("mcpServers",),
    text="""\
{
    "mcpServers": {
        "db": {"command": "uvx", "args": ["pg-mcp", "${env:DATABASE_URL}"], "env": {"HOMEDIR": "${userHome}"}},
        "design": {"url": "https://design.example.com/mcp", "headers": {"Authorization": "Bearer ${env:DESIGN}"}}
    }
}
""",
    servers={
        "db": {"command": "uvx", "args": ["pg-mcp", "${DATABASE_URL}"], "env": {"HOMEDIR": "${HOME}"}},
        "design": {
            "url": "https://design.example.com/mcp",
            "headers": {"Authorization": "Bearer ${DESIGN}"},
        },
    },
)

VSCODE = Sample(
    file="/srv/shop/.vscode/mcp.json",
    format="vscode",
    section=("servers",),
    text="""\
{
\t// asked for once
\t"inputs": [{"type": "promptString", "id": "api-key", "password": true}],
\t"servers": {
\t\t"local": {
\t\t\t"type": "stdio",
\t\t\t"command": "node",
\t\t\t"args": ["${workspaceFolder}/mcp.js"],
\t\t\t"env": {"API_KEY": "${input:api-key}"},
\t\t\t"envFile": "${workspaceFolder}/.env"
\t\t},
\t\t"old": {"type": "sse", "url": "https://old.example.com/sse"},
\t},
}
""",
    servers={
        "local": {"command": "node", "args": ["/srv/shop/mcp.js"], "env": {"API_KEY": "${API_KEY}"}},
        "old": {"url": "https://old.example.com/sse", "transport": "sse"},
    },
    told=("API_KEY", "envFile"),
)

CODEX = Sample(
    file="/home/you/.codex/config.toml",
    format="codex",
    syntax="toml",
    section=("mcp_servers",),
    text="""\
# mine
model = "o9"

[mcp_servers.docs]   # the good one
command = "npx"
args = ["-y", "docs-mcp"]
env_vars = ["DOCS_TOKEN"]
startup_timeout_sec = 20
tool_timeout_sec = 90
enabled = false

[mcp_servers.docs.env]
LEVEL = "info"

[mcp_servers.remote]
url = "https://mcp.example.com/mcp"
bearer_token_env_var = "REMOTE_TOKEN"
http_headers = { "X-Region" = "eu" }
env_http_headers = { "X-Account" = "ACCOUNT_ID" }
enabled_tools = ["search", "fetch"]
disabled_tools = ["fetch"]

[tui]
theme = "dark"
""",
    servers={
        "docs": {
            "command": "npx",
            "args": ["-y", "docs-mcp"],
            "env": {"DOCS_TOKEN": "${DOCS_TOKEN}", "LEVEL": "info"},
            "enabled": False,
            "timeout": "90s",
        },
        "remote": {
            "url": "https://mcp.example.com/mcp",
            "headers": {"X-Region": "eu", "X-Account": "${ACCOUNT_ID}", "Authorization": "Bearer ${REMOTE_TOKEN}"},
            "tools": [{"name": "search"}],
        },
    },
    told=("startup_timeout_sec",),
)

GEMINI = Sample(
    file="/home/you/.gemini/settings.json",
    format="gemini",
    section=("mcpServers",),
    text="""\
{
  "theme": "GitHub",
  "mcp": {"excluded": ["off"]},
  "mcpServers": {
    "maps": {"httpUrl": "https://maps.example.com/mcp", "headers": {"X-Key": "$MAPS_KEY"}, "timeout": 2500},
    "shell": {"command": "$HOME/bin/shell-mcp", "includeTools": ["ls", "cat", "rm"], "excludeTools": ["rm"]},
    "off": {"url": "https://off.example.com/mcp", "type": "http", "excludeTools": ["wipe"], "trust": true}
  }
}
""",
    servers={
        "maps": {"url": "https://maps.example.com/mcp", "headers": {"X-Key": "${MAPS_KEY}"}, "timeout": "2500ms"},
        "shell": {"command": "${HOME}/bin/shell-mcp", "tools": [{"name": "ls"}, {"name": "cat"}]},
        "off": {"url": "https://off.example.com/mcp", "enabled": False},
    },
    told=("wipe", "trust"),
)

WINDSURF = Sample(
    file="/home/you/.codeium/windsurf/mcp_config.json",
    format="windsurf",
    section=("mcpServers",),
    text='{"mcpServers": {"web": {"serverUrl": "https://mcp.example.com/mcp", "disabled": true}}}',
    servers={"web": {"url": "https://mcp.example.com/mcp", "enabled": False}},
)

ZED = Sample(
    file="/home/you/.config/zed/settings.json",
    format="zed",
    section=("context_servers",),
    text="""\
// Zed settings
{
  "theme": "One Dark", // for the night
  "context_servers": {
    "now": {"source": "custom", "command": "now-mcp", "args": ["--utc"], "env": {}},
    "before": {"command": {"path": "before-mcp", "args": ["x"], "env": {"A": "b"}}, "settings": {}},
    "extension": {"source": "extension", "enabled": true, "settings": {"key": 1}},
  },
}
""",
    servers={
        "now": {"command": "now-mcp", "args": ["--utc"]},
        "before": {"command": "before-mcp", "args": ["x"], "env": {"A": "b"}},
    },
    left_out=("extension",),
)

OPENCODE = Sample(
    file="/srv/shop/opencode.json",
    format="opencode",
    section=("mcp",),
    text="""\
{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "here": {"type": "local", "command": ["bun", "x", "here-mcp"], "environment": {"K": "{env:HERE}"}},
    "there": {"type": "remote", "url": "https://there.example.com/mcp", "enabled": false,
              "headers": {"Authorization": "Bearer {file:~/.there-token}"}}
  }
}
""",
    servers={
        "here": {"command": "bun", "args": ["x", "here-mcp"], "env": {"K": "${HERE}"}},
        "there": {
            "url": "https://there.example.com/mcp",
            "headers": {"Authorization": "Bearer ${THERE_TOKEN}"},
            "enabled": False,
        },
    },
    told=("THERE_TOKEN",),
)

GOOSE = Sample(
    file="/home/you/.config/goose/config.yaml",
    format="goose",
    syntax="yaml",
    section=("extensions",),
    text="""\
GOOSE_PROVIDER: anthropic  # the one I pay for
extensions:
  developer:
    bundled: true
    enabled: true
    name: developer
    type: builtin
  fetch:
    name: fetch
    type: stdio
    cmd: uvx
    args:
    - mcp-server-fetch
    envs: {LEVEL: info}
    env_keys:
    - FETCH_TOKEN
    enabled: true
    timeout: 300
  # not used any more
  web:
    type: streamable_http
    uri: https://mcp.example.com/mcp
    enabled: false
""",
    servers={
        "fetch": {
            "command": "uvx",
            "args": ["mcp-server-fetch"],
            "env": {"FETCH_TOKEN": "${FETCH_TOKEN}", "LEVEL": "info"},
            "timeout": "300s",
        },
        "web": {"url": "https://mcp.example.com/mcp", "enabled": False},
    },
    left_out=("developer",),
)

CLIENTS = [CLAUDE_CODE, CLAUDE_DESKTOP, CURSOR, VSCODE, CODEX, GEMINI, WINDSURF, ZED, OPENCODE, GOOSE]
