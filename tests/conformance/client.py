"""The program that the official suites start as the client under test: Limen's own, doing what a scenario wants.

The suite names the server in the last argument, the scenario and the revision in the environment. Where it wants a
person to sign in, one agrees at once.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final

import httpx2

from limen.errors import MethodNotFound
from limen.gateway.oauth.accounts import Accounts
from limen.gateway.oauth.rules import SignInRules
from limen.gateway.oauth.tokens import Registration
from limen.gateway.oauth.vault import FileVault
from limen.protocol.frames import DEFAULT_LIMITS, Notification
from limen.protocol.versions import SERVED, Revision
from limen.transport.client import McpClient, open_client
from limen.transport.handshake import ClientProfile
from limen.transport.http import HttpOptions, open_http
from tests.servers.browser import AgreeablePerson

AUTH: Final = "auth/"
MACHINE: Final = "auth/client-credentials-basic"
CLIENT_DOCUMENT: Final = "https://conformance-test.local/client-metadata.json"
"""The address that the suite's authorization server knows."""
CAPABILITIES: dict[str, Any] = {"elicitation": {"form": {"applyDefaults": True}}, "roots": {}, "sampling": {}}


class AgreeableHost:
    """Accepts every form with the defaults it comes with."""

    async def answer(self, method: str, params: bytes, context: object) -> bytes:
        """Fill in the form."""
        if method != "elicitation/create":
            raise MethodNotFound(f"no {method} here")
        fields: dict[str, Any] = json.loads(params)["requestedSchema"]["properties"]
        content = {name: filled_in(field) for name, field in fields.items()}
        return json.dumps({"action": "accept", "content": content}).encode()

    def hear(self, notification: Notification, context: object) -> None:
        """Nothing depends on it."""


def filled_in(field: dict[str, Any]) -> object:
    """The default of a field, or something that fits."""
    if "default" in field:
        return field["default"]
    return {"boolean": True, "integer": 1, "number": 1.5}.get(field.get("type", ""), "text")


def sample(schema: dict[str, Any]) -> dict[str, object]:
    """Arguments that a tool's schema would take."""
    properties: dict[str, Any] = schema.get("properties", {})
    return {name: filled_in(properties[name]) for name in schema.get("required", [])}


async def call(client: McpClient, name: str, **arguments: object) -> Any:
    """Call a tool and read its result."""
    return json.loads(await client.call_tool(name, json.dumps(arguments).encode()))


async def list_tools(client: McpClient) -> dict[str, Any]:
    """The tools on offer, by name."""
    return {tool["name"]: tool for tool in map(json.loads, await client.list_tools())}


async def call_everything(client: McpClient) -> None:
    """List the tools and call each with made-up arguments."""
    for name, tool in (await list_tools(client)).items():
        await call(client, name, **sample(tool["inputSchema"]))


async def call_numbers(client: McpClient) -> None:
    """Add two numbers."""
    await list_tools(client)
    await call(client, "add_numbers", a=5, b=3)


async def call_in_turns(client: McpClient) -> None:
    """Calls that come back with questions, and others at the same time."""
    await list_tools(client)
    names = ("test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state", "test_mrtr_no_result_type")
    async with asyncio.TaskGroup() as group:
        for name in names:
            group.create_task(call(client, name))


async def call_as_told(client: McpClient) -> None:
    """The calls that the suite writes into its context."""
    await list_tools(client)
    for told in json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])["toolCalls"]:
        await call(client, told["name"], **told["arguments"])


async def ask_everything(client: McpClient) -> None:
    """One request of each method that a header names."""
    await call_everything(client)
    for resource in map(json.loads, await client.list_all("resources/list", "resources")):
        await client.read_resource(resource["uri"])
    for prompt in map(json.loads, await client.list_all("prompts/list", "prompts")):
        await client.get_prompt(prompt["name"])


async def return_schema(client: McpClient) -> None:
    """Hand back the schema that was listed, as it was listed."""
    tools = await list_tools(client)
    focal = next(tool for name, tool in tools.items() if name != "json_schema_echo")
    await call(client, "json_schema_echo", schema=focal["inputSchema"])


async def only_list(client: McpClient) -> None:
    """List the tools and leave."""
    await list_tools(client)


SCENARIOS: dict[str, Callable[[McpClient], Awaitable[None]]] = {
    "initialize": only_list,
    "tools_call": call_numbers,
    "elicitation-sep1034-client-defaults": call_everything,
    "sse-retry": call_everything,
    "request-metadata": only_list,
    "sep-2322-client-request-state": call_in_turns,
    "http-standard-headers": ask_everything,
    "http-custom-headers": call_as_told,
    "http-invalid-tool-headers": call_everything,
    "json-schema-ref-no-deref": only_list,
    "json-schema-2020-12-preservation": return_schema,
}


def sign_in_rules(url: str) -> SignInRules:
    """How to sign in: by document or registration, or with the client that the suite's context names."""
    context: dict[str, str] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    if "client_secret" not in context:
        return SignInRules(client_metadata_url=CLIENT_DOCUMENT)
    client = Registration(client_id=context["client_id"], client_secret=context["client_secret"])
    if os.environ["MCP_CONFORMANCE_SCENARIO"] != MACHINE:
        return SignInRules(client=client, issuer=context["issuer"])
    # Limen wants to be told whose client it is, and the suite does not tell.
    record = httpx2.get(f"{url.removesuffix('/mcp')}/.well-known/oauth-protected-resource/mcp").json()
    return SignInRules(client=client, issuer=record["authorization_servers"][0], grant="client_credentials")


def revisions() -> Sequence[Revision]:
    """The revision that the suite names; the older suite knows only one."""
    named = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", SERVED[0])
    return [revision for revision in SERVED if revision == named]


async def main(url: str, scenario: str, home: Path) -> None:
    """Play one scenario against the suite's server."""
    profile = ClientProfile("limen-conformance", "1.0.0", CAPABILITIES)
    accounts = Accounts(FileVault(home), home, AgreeablePerson())
    auth = accounts.authorizer("suite", url, {}, sign_in_rules(url)) if scenario.startswith(AUTH) else None
    async with (
        open_http(url, HttpOptions({}, DEFAULT_LIMITS.frame_bytes, auth=auth)) as channel,
        open_client(channel, profile, AgreeableHost(), revisions=revisions(), timeout_s=20) as client,
    ):
        await (call_everything if auth else SCENARIOS[scenario])(client)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        asyncio.run(main(sys.argv[-1], os.environ["MCP_CONFORMANCE_SCENARIO"], Path(home)))
