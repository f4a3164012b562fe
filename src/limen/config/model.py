"""Every setting Limen has, with its default, its bounds and one line that describes it.

Holds values only. What a file or the environment says is turned into these by `limen.config.load`.
"""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct, field

__all__ = [
    "ENVIRONMENT",
    "AuditSettings",
    "EnvironmentVariable",
    "ExposeSettings",
    "LimitSettings",
    "LogSettings",
    "MemorySettings",
    "RegistrySettings",
    "ServerEntry",
    "ServerKind",
    "ServerSettings",
    "Settings",
    "ToolEntry",
]

# `limen.protocol` knows the revisions too, but stands beside this package and is not imported here.
Revision = Literal["2025-11-25", "2026-07-28"]
Tier = Annotated[Literal["read", "write", "admin"], Meta(extra={"noun": "`read`, `write` or `admin`"})]
LogLevel = Annotated[
    Literal["debug", "info", "warning", "error"], Meta(extra={"noun": "`debug`, `info`, `warning` or `error`"})
]
ServerKind = Literal["stdio", "http", "cli"]

Duration = Annotated[float, Meta(gt=0, le=31_536_000, extra={"kind": "duration"})]
Filled = Annotated[str, Meta(min_length=1)]
Folder = Annotated[str, Meta(min_length=1, extra={"kind": "folder"})]
Tag = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$", extra={"noun": "a tag", "example": "mcp.git"})
]
Word = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}$", extra={"noun": "a name", "example": "hub"})]
Host = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9._:\[\]%-]+$", extra={"noun": "a host name or address", "example": "127.0.0.1"})
]
Origin = Annotated[
    str,
    Meta(
        pattern=r"^[a-z][a-z0-9+.-]*://[^/\s*?#@]+$",
        extra={"noun": "an origin (scheme, host and port, no path)", "example": "https://app.example.com"},
    ),
]
HostOrNetwork = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9._:\[\]-]+(/[0-9]{1,3})?$",
        extra={"noun": "a host name, an address or a network", "example": "10.0.0.0/8"},
    ),
]
HttpUrl = Annotated[
    str, Meta(pattern=r"^https?://[^\s/]\S*$", extra={"noun": "an HTTP URL", "example": "https://mcp.example.com/mcp"})
]
HeaderName = Annotated[
    str, Meta(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", extra={"noun": "a header name", "example": "Authorization"})
]
HeaderValue = Annotated[
    str, Meta(pattern=r"^[^\r\n\0]*$", extra={"noun": "a single line", "example": "Bearer ${TOKEN}"})
]
VariableName = Annotated[str, Meta(pattern=r"^[^=\s\0]+$", extra={"noun": "a variable name", "example": "API_KEY"})]


def _no_texts() -> dict[str, str]:
    return {}


class ServerSettings(Struct, frozen=True, kw_only=True):
    """How Limen itself is reached."""

    host: Annotated[Host, Meta(description="Address that `limen serve` listens on.")] = "127.0.0.1"
    port: Annotated[
        int, Meta(ge=0, le=65535, description="Port that `limen serve` listens on; 0 takes any free one.")
    ] = 8765
    protocol_versions: Annotated[
        tuple[Revision, ...], Meta(min_length=1, description="MCP revisions that are served; any other is refused.")
    ] = ("2025-11-25", "2026-07-28")
    allowed_hosts: Annotated[
        tuple[Host, ...], Meta(description="Values of the Host header accepted besides loopback and the bound address.")
    ] = ()
    allowed_origins: Annotated[
        tuple[Origin, ...], Meta(description="Web origins that may call; others with an Origin header are refused.")
    ] = ()
    max_connections: Annotated[int, Meta(ge=1, le=1_000_000, description="Open HTTP connections, all callers.")] = 512
    header_timeout_s: Annotated[Duration, Meta(description="Time a client has to send a request's headers.")] = 10.0
    body_timeout_s: Annotated[Duration, Meta(description="Time a client has to send a request's body.")] = 10.0
    keepalive_s: Annotated[Duration, Meta(description="Pause after which an idle event stream gets a comment.")] = 15.0
    session_idle_s: Annotated[Duration, Meta(description="A session unused for this long is closed.")] = 1800.0
    max_sessions: Annotated[int, Meta(ge=1, le=10_000_000, description="Open sessions, all callers.")] = 10_000
    event_buffer: Annotated[int, Meta(ge=0, le=1_000_000, description="Events kept per session for replay.")] = 256
    legacy_sse: Annotated[
        bool, Meta(description="Also serve clients that know only the older HTTP+SSE, at `/sse`.")
    ] = False
    send_queue: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Messages that may wait for a slow reader before it is dropped.")
    ] = 256


class LimitSettings(Struct, frozen=True, kw_only=True):
    """The most one message may be."""

    body_bytes: Annotated[int, Meta(ge=1024, le=1 << 30, description="Bytes of one HTTP request body.")] = 4 << 20
    line_bytes: Annotated[int, Meta(ge=1024, le=1 << 30, description="Bytes of one line on stdio.")] = 4 << 20
    string_bytes: Annotated[int, Meta(ge=1024, le=1 << 30, description="Bytes of one JSON string.")] = 2 << 20
    depth: Annotated[int, Meta(ge=4, le=1000, description="Levels of nesting in one message.")] = 100
    result_bytes: Annotated[
        int,
        Meta(
            ge=1024,
            le=64 << 20,
            description="Bytes of one result of a server's tool; of more the client gets the beginning and a resource.",
        ),
    ] = 256 << 10


class AuditSettings(Struct, frozen=True, kw_only=True):
    """What the audit trail keeps of a call. The trail itself cannot be turned off."""

    arguments: Annotated[
        Literal["digest", "redacted"],
        Meta(description="Keep a digest of the arguments only, or the arguments with secrets masked."),
    ] = "digest"


class LogSettings(Struct, frozen=True, kw_only=True):
    """What Limen says about itself on stderr."""

    level: Annotated[LogLevel, Meta(description="The least severe message that is logged.")] = "warning"


class MemorySettings(Struct, frozen=True, kw_only=True):
    """How brains are kept and searched."""

    default_brain: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9_-]{0,64}$",
            description="Id or slug of the brain that is meant when none is named; empty for the oldest.",
            extra={"noun": "a brain", "example": "work"},
        ),
    ] = ""
    embedder: Annotated[
        Literal["wordllama", "minilm", "none"],
        Meta(description="The model that turns passages into vectors; all of them run on this machine."),
    ] = "wordllama"
    allowed_hosts: Annotated[
        tuple[HostOrNetwork, ...],
        Meta(description="Private hosts, addresses or networks that `memory_ingest_url` may fetch from."),
    ] = ()
    watch: Annotated[bool, Meta(description="Notice edits that are made to the files by other programs at once.")] = (
        True
    )


class RegistrySettings(Struct, frozen=True, kw_only=True):
    """Where `limen mcp marketplace` looks for servers."""

    url: Annotated[
        str,
        Meta(
            pattern=r"^(https?://[^\s/]\S*)?$",
            description="Address of an MCP registry, before `/v0.1`; empty for none.",
            extra={"noun": "an HTTP URL", "example": "https://registry.example.com"},
        ),
    ] = ""


class ExposeSettings(Struct, frozen=True, kw_only=True):
    """Which tools of other servers clients are shown. All of them can be called by name."""

    mode: Annotated[
        Literal["all", "search"],
        Meta(description="Show them all, or only `find_tools` and `call_tool`, by which all are reached."),
    ] = "all"
    favourites: Annotated[
        tuple[Filled, ...],
        Meta(description="Tools that are shown in search mode too, by name; `*` stands for anything."),
    ] = ()


class ToolEntry(Struct, frozen=True, kw_only=True):
    """One tool of a server that is exposed."""

    name: Annotated[Filled, Meta(description="The tool's name as its server reports it.")]
    alias: Annotated[Word | None, Meta(description="The name under which clients see it.")] = None
    tags: Annotated[tuple[Tag, ...] | None, Meta(description="Tags of this tool; without it, its server's.")] = None
    enabled: Annotated[bool, Meta(description="Whether it is exposed.")] = True


class ServerEntry(Struct, frozen=True, kw_only=True):
    """One upstream server. Its shape decides its kind: `command`, `url`, or `command` with `cli: true`."""

    command: Annotated[Filled | None, Meta(description="Program to start; it speaks MCP on stdio.")] = None
    args: Annotated[tuple[str, ...], Meta(description="Its arguments, one item each; no shell reads them.")] = ()
    env: Annotated[
        Mapping[VariableName, str], Meta(description="Environment variables it gets besides the minimal ones.")
    ] = field(default_factory=_no_texts)
    cwd: Annotated[Folder | None, Meta(description="Folder it is started in.")] = None
    url: Annotated[HttpUrl | None, Meta(description="Address of a server that is reached over HTTP.")] = None
    headers: Annotated[Mapping[HeaderName, HeaderValue], Meta(description="HTTP headers sent with every request.")] = (
        field(default_factory=_no_texts)
    )
    transport: Annotated[
        Literal["auto", "http", "sse"], Meta(description="For a `url`: Streamable HTTP, or the older HTTP+SSE.")
    ] = "auto"
    protocol: Annotated[
        Literal["auto", "2025-11-25", "2026-07-28"], Meta(description="MCP revision to speak; `auto` asks the server.")
    ] = "auto"
    enabled: Annotated[bool, Meta(description="Whether it is used at all.")] = True
    tags: Annotated[tuple[Tag, ...], Meta(description="Tags of all its tools; a grant of `a` covers `a.b`.")] = ("mcp",)
    tools: Annotated[tuple[ToolEntry, ...] | None, Meta(description="When given, only these tools are exposed.")] = None
    expose: Annotated[
        Literal["prefixed", "bare"], Meta(description="Names clients see: `server__tool`, or the tool's own.")
    ] = "prefixed"
    timeout_s: Annotated[Duration, Meta(description="Time one call may take; progress extends it.")] = field(
        default=120.0, name="timeout"
    )
    idle_timeout: Annotated[
        Literal["adaptive", "never"] | Duration, Meta(description="When an unused server is stopped.")
    ] = "adaptive"
    min_idle_timeout_s: Annotated[Duration, Meta(description="Least idle time when `idle_timeout` is adaptive.")] = (
        field(default=60.0, name="min_idle_timeout")
    )
    max_idle_timeout_s: Annotated[Duration, Meta(description="Most idle time when `idle_timeout` is adaptive.")] = (
        field(default=300.0, name="max_idle_timeout")
    )
    max_concurrency: Annotated[int, Meta(ge=1, le=10_000, description="Calls in flight at once, all callers.")] = 64
    cli: Annotated[bool, Meta(description="`command` is an ordinary program; its help text becomes tools.")] = False
    cli_help: Annotated[Filled, Meta(description="Argument that makes the program print its help.")] = "--help"
    cli_depth: Annotated[int, Meta(ge=1, le=5, description="Levels of subcommands that are read.")] = 2
    cli_only: Annotated[tuple[str, ...], Meta(description="When given, only these subcommands become tools.")] = ()

    @property
    def kind(self) -> ServerKind:
        """How it is reached."""
        if self.cli:
            return "cli"
        return "http" if self.url is not None else "stdio"

    def __repr__(self) -> str:
        """Says the kind only: environment, headers, arguments and URL may hold secrets."""
        return f"ServerEntry(kind={self.kind!r}, enabled={self.enabled})"


def _no_servers() -> dict[str, ServerEntry]:
    return {}


class Settings(Struct, frozen=True, kw_only=True):
    """All settings in force."""

    server: Annotated[ServerSettings, Meta(description="How Limen itself is reached.")] = ServerSettings()
    limits: Annotated[LimitSettings, Meta(description="The most one message may be.")] = LimitSettings()
    toolsets: Annotated[tuple[Word, ...], Meta(description="Families of built-in tools that are served.")] = (
        "memory",
        "hub",
    )
    tier: Annotated[Tier, Meta(description="The most that callers may do: each tier includes those before it.")] = (
        "read"
    )
    allowed_file_roots: Annotated[
        tuple[Folder, ...],
        Meta(description="Folders that tools may read files from; also told to upstreams that ask for roots."),
    ] = ()
    audit: Annotated[AuditSettings, Meta(description="What the audit trail keeps of a call.")] = AuditSettings()
    memory: Annotated[MemorySettings, Meta(description="How brains are kept and searched.")] = MemorySettings()
    log: Annotated[LogSettings, Meta(description="What Limen says about itself on stderr.")] = LogSettings()
    registry: Annotated[RegistrySettings, Meta(description="Where servers are looked for.")] = RegistrySettings()
    expose: Annotated[ExposeSettings, Meta(description="Which tools of servers are shown.")] = ExposeSettings()
    servers: Annotated[
        Mapping[str, ServerEntry], Meta(description="Upstream servers by name; `mcpServers` means the same.")
    ] = field(default_factory=_no_servers)


class EnvironmentVariable(Struct, frozen=True):
    """A variable Limen reads, and the setting it overrides where there is one."""

    name: str
    setting: str | None
    description: str


ENVIRONMENT: Final = (
    EnvironmentVariable("LIMEN_HOME", None, "Folder that holds config, state, data, cache and run-time files."),
    EnvironmentVariable("LIMEN_CONFIG", None, "The settings file, when `--config` does not name one."),
    EnvironmentVariable("LIMEN_HOST", "server.host", "Address that `limen serve` listens on."),
    EnvironmentVariable("LIMEN_PORT", "server.port", "Port that `limen serve` listens on."),
    EnvironmentVariable("JBMCP_DEFAULT_BRAIN", "memory.default_brain", "The same as LIMEN_DEFAULT_BRAIN, which wins."),
    EnvironmentVariable("LIMEN_DEFAULT_BRAIN", "memory.default_brain", "The brain that is meant when none is named."),
    EnvironmentVariable("LIMEN_LOG_LEVEL", "log.level", "The least severe message that is logged."),
)
