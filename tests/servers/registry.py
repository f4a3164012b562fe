"""A small MCP registry over HTTP (API v0.1) in a thread of its own: search with pages, and one version by name."""

import json
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

PAGE = 2


class Registry:
    """What the registry knows, and what it was asked."""

    def __init__(self, *records: Mapping[str, Any]) -> None:
        self.records = list(records)
        self.asked: list[str] = []
        self.answer: tuple[int, bytes] | None = None
        """Given to whatever is asked, when set."""
        self.url = ""

    def reply(self, target: str) -> tuple[int, bytes]:
        """Status and body for one request."""
        self.asked.append(target)
        if self.answer is not None:
            return self.answer
        parts = urlsplit(target)
        words = [unquote(word) for word in parts.path.strip("/").split("/")]
        match words:
            case ["v0.1", "servers"]:
                return 200, json.dumps(self._page(parse_qs(parts.query))).encode()
            case ["v0.1", "servers", name, "versions", version]:
                return self._one(name, version)
            case _:
                return 404, b'{"error": "not found"}'

    def _page(self, query: Mapping[str, list[str]]) -> dict[str, Any]:
        wanted = query.get("search", [""])[0]
        found = [record for record in self.records if wanted in record["name"]]
        start = int(query.get("cursor", ["0"])[0])
        about = {"count": PAGE} | ({"nextCursor": str(start + PAGE)} if start + PAGE < len(found) else {})
        return {"servers": [_wrapped(record) for record in found[start : start + PAGE]], "metadata": about}

    def _one(self, name: str, version: str) -> tuple[int, bytes]:
        for record in self.records:
            if record["name"] == name and version in ("latest", record["version"]):
                return 200, json.dumps(_wrapped(record)).encode()
        return 404, b'{"error": "not found"}'


def _wrapped(record: Mapping[str, Any]) -> dict[str, Any]:
    return {"server": record, "_meta": {"io.modelcontextprotocol.registry/official": {"status": "active"}}}


@contextmanager
def open_registry(*records: Mapping[str, Any]) -> Generator[Registry]:
    """Serve these records on a free port of the loopback interface."""
    registry = Registry(*records)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = registry.reply(self.path)
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
