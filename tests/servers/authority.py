"""A real authorization server and the MCP server it guards, on one port of the loopback interface; no Limen in it.

What it is willing to do is set from outside while it runs, and all that was asked of it is kept.
"""

import base64
import hashlib
import secrets
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

START_S = 10.0
RECORD = "/.well-known/oauth-protected-resource"


@dataclass(slots=True)
class Authority:
    """The servers, their rules, and what happened to them."""

    origin: str = ""
    has_metadata: bool = True
    has_registration: bool = True
    code_challenge_methods: list[str] = field(default_factory=lambda: ["S256"])
    sends_issuer: bool = True
    told_issuer: str = ""
    """What the redirect names as issuer, when it lies."""
    resource: str = ""
    """What the protected resource calls itself, when it is not its address."""
    authorization_endpoint: str = ""
    """Where the metadata sends the browser, when not here."""
    token_endpoint: str = ""
    """Where the metadata sends token requests, when not here."""
    auth_method: str = "client_secret_basic"
    lifetime_s: int | None = 3600
    rotates: bool = True
    denies: bool = False
    refuses_everything: bool = False
    wider_scope_for: str = ""
    """A tool that needs the scope `write` on top of `read`."""
    refresh_status: int = 200

    refreshing: threading.Event = field(default_factory=threading.Event)
    """Set as soon as a refresh is asked for."""
    clients: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    codes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    access: dict[str, str] = field(default_factory=dict[str, str])
    """Scope of each access token that is good."""
    refreshable: dict[str, str] = field(default_factory=dict[str, str])
    """Scope of each refresh token that is good."""
    authorized: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    token_requests: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    carried: list[str] = field(default_factory=list[str])
    """The Authorization header of each MCP request, in order."""

    @property
    def url(self) -> str:
        """The MCP endpoint."""
        return f"{self.origin}/mcp"

    @property
    def refreshes(self) -> list[dict[str, str]]:
        """The token requests that were refreshes."""
        return [form for form in self.token_requests if form["grant_type"] == "refresh_token"]

    def end_all_access(self) -> None:
        """From now on no access token is good; refresh tokens are."""
        self.access.clear()

    def issue(self, scope: str) -> dict[str, Any]:
        """A new pair of tokens."""
        token, refresh = f"access-{secrets.token_hex(16)}", f"refresh-{secrets.token_hex(16)}"
        self.access[token] = scope
        self.refreshable[refresh] = scope
        told: dict[str, Any] = {"access_token": token, "token_type": "bearer", "refresh_token": refresh}
        return told if self.lifetime_s is None else {**told, "expires_in": self.lifetime_s}

    async def protected_resource(self, request: Request) -> Response:
        """RFC 9728."""
        if not self.has_metadata:
            return Response(status_code=404)
        return JSONResponse({"resource": self.resource or self.url, "authorization_servers": [self.origin]})

    async def metadata(self, request: Request) -> Response:
        """RFC 8414."""
        if not self.has_metadata:
            return Response(status_code=404)
        told: dict[str, Any] = {
            "issuer": self.origin,
            "authorization_endpoint": self.authorization_endpoint or f"{self.origin}/authorize",
            "token_endpoint": self.token_endpoint or f"{self.origin}/token",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": self.code_challenge_methods,
            "authorization_response_iss_parameter_supported": self.sends_issuer,
        }
        if self.has_registration:
            told["registration_endpoint"] = f"{self.origin}/register"
        return JSONResponse(told)

    async def register(self, request: Request) -> Response:
        """RFC 7591."""
        if not self.has_registration:
            return JSONResponse({"error": "access_denied"}, 403)
        client = {
            **await request.json(),
            "client_id": f"client-{len(self.clients) + 1}",
            "client_secret": f"secret-{secrets.token_hex(8)}",
            "token_endpoint_auth_method": self.auth_method,
        }
        self.clients[client["client_id"]] = client
        return JSONResponse(client, 201)

    async def authorize(self, request: Request) -> Response:
        """The page where a person agrees; this one has agreed already."""
        asked = dict(request.query_params)
        self.authorized.append(asked)
        known = self.clients.get(asked["client_id"], {}).get("redirect_uris", [])
        if asked["redirect_uri"] not in known:
            return Response("unknown redirect URI", 400)
        back = {"state": asked["state"]}
        if self.sends_issuer:
            back["iss"] = self.told_issuer or self.origin
        if self.denies:
            back |= {"error": "access_denied", "error_description": "not <today>"}
        else:
            back["code"] = secrets.token_hex(16)
            self.codes[back["code"]] = asked
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(back)}", 302)

    async def token(self, request: Request) -> Response:
        """Codes and refresh tokens in, tokens out."""
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        self.token_requests.append(form)
        if not self.knows_client(request, form):
            return JSONResponse({"error": "invalid_client"}, 401)
        if form["grant_type"] == "refresh_token":
            return self.refresh(form)
        asked = self.codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if asked is None or challenge != asked["code_challenge"] or form["redirect_uri"] != asked["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        return JSONResponse(self.issue(asked.get("scope", "")))

    def knows_client(self, request: Request, form: dict[str, str]) -> bool:
        """Whether the client has shown its secret in the way it was told to."""
        client = self.clients.get(form.get("client_id", ""))
        if client is None:
            return False
        if self.auth_method == "client_secret_post":
            return form.get("client_secret") == client["client_secret"]
        pair = base64.b64encode(f"{client['client_id']}:{client['client_secret']}".encode()).decode()
        return request.headers.get("authorization") == f"Basic {pair}"

    def refresh(self, form: dict[str, str]) -> Response:
        """Each refresh token works once, unless they are not rotated."""
        self.refreshing.set()
        if self.refresh_status != 200:
            return JSONResponse({"error": "temporarily_unavailable"}, self.refresh_status)
        scope = self.refreshable.get(form["refresh_token"])
        if scope is None:
            return JSONResponse({"error": "invalid_grant"}, 400)
        told = self.issue(scope)
        if self.rotates:
            del self.refreshable[form["refresh_token"]]
        else:
            del self.refreshable[told.pop("refresh_token")]
        return JSONResponse(told)

    async def mcp(self, request: Request) -> Response:
        """The guarded server: two tools that say who called."""
        carried = request.headers.get("authorization", "")
        self.carried.append(carried)
        if request.method != "POST":
            return Response(status_code=405)
        message = await request.json()
        granted = None if self.refuses_everything else self.access.get(carried.removeprefix("Bearer "))
        record = f'resource_metadata="{self.origin}{RECORD}/mcp"'
        if granted is None:
            return Response(status_code=401, headers={"www-authenticate": f'Bearer {record}, scope="read"'})
        tool = message.get("params", {}).get("name", "")
        if tool and tool == self.wider_scope_for and "write" not in granted.split():
            told = f'Bearer error="insufficient_scope", scope="write", {record}'
            return Response(status_code=403, headers={"www-authenticate": told})
        return answer(message)


def answer(message: dict[str, Any]) -> Response:
    """What an MCP server of the session revision says."""
    if "id" not in message:
        return Response(status_code=202)
    tool = {"name": "whoami", "inputSchema": {"type": "object"}}
    results: dict[str, Any] = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "guarded", "version": "1"},
        },
        "tools/list": {"tools": [tool]},
        "tools/call": {"content": [{"type": "text", "text": "somebody with a token"}]},
    }
    return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": results.get(message["method"], {})})


@contextmanager
def authority() -> Generator[Authority]:
    """Both servers, running in a thread of their own until the end of the block."""
    held = Authority()
    routes = [
        Route(RECORD, held.protected_resource),
        Route(f"{RECORD}/mcp", held.protected_resource),
        Route("/.well-known/oauth-authorization-server", held.metadata),
        Route("/register", held.register, methods=["POST"]),
        Route("/authorize", held.authorize),
        Route("/token", held.token, methods=["POST"]),
        Route("/mcp", held.mcp, methods=["GET", "POST", "DELETE"]),
    ]
    config = uvicorn.Config(Starlette(routes=routes), host="127.0.0.1", port=0, log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + START_S
    while not server.started:
        assert thread.is_alive(), "the server died"
        assert time.monotonic() < deadline, "the server does not start"
        time.sleep(0.01)
    held.origin = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield held
    finally:
        server.should_exit = True
        thread.join(START_S)
