"""What `limen mcp doctor` asks of one server, in the order in which the answers explain each other."""

import asyncio
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from limen.cli.checks import Finding
from limen.cli.mcp.reaching import Hub
from limen.config.childenv import child_environment
from limen.config.load import Loaded
from limen.config.model import ServerEntry
from limen.errors import AuthRequired, LimenError
from limen.gateway.catalog import missing_tools
from limen.gateway.upstream import Upstream
from limen.protocol.versions import SERVED
from limen.redact import redact_text

__all__ = ["examine_server", "server_names"]

TAIL: Final = 5
"""Lines of a server's stderr that are shown."""
_INSTALLERS: Final = {
    "npx": "install Node.js, which brings npx",
    "node": "install Node.js",
    "uvx": "install uv, which brings uvx",
    "uv": "install uv",
    "docker": "install Docker",
    "podman": "install Podman",
    "dnx": "install .NET 10 or later, which brings dnx",
}


def server_names(loaded: Loaded) -> list[str]:
    """Every server that the settings speak of, whether it can be used or not."""
    return [*loaded.settings.servers, *(name for name in loaded.disabled if name not in loaded.settings.servers)]


async def examine_server(hub: Hub, name: str, timeout_s: float) -> list[Finding]:
    """Every finding about one server; what goes wrong is a finding, too."""
    findings = list(_settings(hub.loaded, name))
    entry = hub.loaded.settings.servers.get(name)
    if entry is None:
        return findings
    if not entry.enabled:
        return [*findings, Finding("warn", "settings", "switched off", f"limen mcp update {name} --enable")]
    place = _place(hub, name, entry)
    findings.append(place)
    if place.mark == "fail":
        return findings
    upstream = hub.gateway.get(name)
    findings += await _connection(upstream, entry, timeout_s)
    return [*findings, *_output(upstream, is_well=all(finding.mark == "ok" for finding in findings))]


def _settings(loaded: Loaded, name: str) -> Iterator[Finding]:
    problems = [problem for problem in loaded.problems if problem.server == name]
    for problem in problems:
        where = f"{problem.where}: " if problem.where else ""
        mark = "fail" if problem.severity == "error" else "warn"
        yield Finding(mark, "settings", redact_text(f"{where}{problem.message}"), problem.fix)
    if name in loaded.disabled and not any(problem.severity == "error" for problem in problems):
        yield Finding("warn", "settings", redact_text(loaded.disabled[name]), "set them, then switch it on")


def _place(hub: Hub, name: str, entry: ServerEntry) -> Finding:
    """Where it is to be found: an address, or a program that must be there."""
    if entry.url is not None:
        return Finding("ok", "address", redact_text(entry.url))
    env = {**child_environment(hub.invocation.environment), **entry.env}
    command = entry.command or ""
    cwd = Path(entry.cwd) if entry.cwd else Path.cwd()
    if entry.cwd and not cwd.is_dir():
        return Finding("fail", "folder", f"{cwd} is not there", f"correct `servers.{name}.cwd`")
    found = shutil.which(str(cwd / command) if "/" in command else command, path=env.get("PATH"))
    if found is None:
        fix = _INSTALLERS.get(command, f"correct `servers.{name}.command`, or install it")
        return Finding("fail", "command", f"there is no program {command!r} to start", fix)
    return Finding("ok", "command", found)


async def _connection(upstream: Upstream, entry: ServerEntry, timeout_s: float) -> list[Finding]:
    try:
        async with asyncio.timeout(timeout_s):
            found = await upstream.refresh()
    except TimeoutError:
        told = f"no answer within {timeout_s:g} s"
        return [Finding("fail", "handshake", told, f"limen mcp doctor {upstream.name} --timeout 120")]
    except AuthRequired as error:
        return [Finding("fail", "sign-in", str(error), f"limen mcp login {upstream.name}")]
    except LimenError as error:
        return [Finding("fail", "handshake", str(error), _fix(upstream, entry, error))]
    older = "" if found.version in SERVED else ", an older revision that is understood"
    findings = [Finding("ok", "handshake", f"{found.server or 'a server'} speaks MCP {found.version}{older}")]
    counts = [f"{len(items)} {kind}s" for kind, items in found.lists.items() if items]
    if counts:
        findings.append(Finding("ok", "offers", ", ".join(counts)))
    else:
        findings.append(Finding("warn", "offers", "nothing at all", "see the server's own documentation"))
    findings += [Finding("warn", "definition", problem, "tell its authors") for problem in found.problems]
    for tool in missing_tools(entry, found):
        fix = f"correct `servers.{upstream.name}.tools`; `limen mcp discover {upstream.name}` lists what there is"
        findings.append(Finding("warn", "tools", f"the server has no tool {tool!r}", fix))
    return findings


def _fix(upstream: Upstream, entry: ServerEntry, error: LimenError) -> str:
    given = error.facts.get("fix")
    if isinstance(given, str):
        return given
    if entry.url is not None:
        return f"see that the address is right and the server runs: `servers.{upstream.name}.url`"
    command = redact_text(shlex.join([entry.command or "", *entry.args]))
    return f"run it by hand and read what it says: {command}"


def _output(upstream: Upstream, *, is_well: bool) -> Iterator[Finding]:
    if upstream.junk:
        told = f"{upstream.junk} lines on its stdout were no messages, and were passed over"
        yield Finding("warn", "stdout", told, "make it log to stderr; its stdout belongs to the protocol")
    tail = list(upstream.stderr_tail)[-TAIL:]
    if tail:
        yield Finding("ok" if is_well else "warn", "stderr", "\n".join(tail))
