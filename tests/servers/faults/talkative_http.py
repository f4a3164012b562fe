"""The talkative one over Streamable HTTP, a thread for each request: what it says at a call goes on that call's stream.

Run as `talkative_http`; the first line on stdout is its address.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from queue import Queue
from typing import Any

from tests.servers.faults.talkative import elicitation, sampling
from tests.servers.speaking import Message, a_tool, text

ANSWERS: dict[str, "Queue[Message]"] = {}
NUMBERS = count(1)


class Handler(BaseHTTPRequestHandler):
    """One request of a client."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Take one message."""
        message: Message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "method" not in message:
            ANSWERS.pop(message["id"]).put(message)
            self._finish(202)
        elif "id" not in message:
            self._finish(202)
        elif message["method"] == "tools/call":
            self._talk(message["id"], message["params"])
        else:
            self._reply(message["id"], **_answer(message["method"], message.get("params", {})))

    def do_GET(self) -> None:
        """There is no stream but those of calls."""
        self._finish(405)

    def do_DELETE(self) -> None:
        """Let a session go."""
        self._finish(200)

    def _reply(self, number: int, **fields: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": number, **fields}).encode()
        self._finish(200, body)

    def _finish(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        if body:
            self.send_header("content-type", "application/json")
            self.send_header("mcp-session-id", "one-for-all")
        self.end_headers()
        self.wfile.write(body)

    def _talk(self, number: int, params: Message) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        mark: str = params["arguments"]["mark"]
        token = params.get("_meta", {}).get("progressToken")
        if token is not None:
            self._tell("notifications/progress", progressToken=token, progress=1, message=mark)
        self._tell("notifications/message", level="info", data=mark)
        sampled = self._ask("sampling/createMessage", sampling(mark))
        elicited = self._ask("elicitation/create", elicitation(mark))
        if token is not None:
            self._tell("notifications/progress", progressToken=token, progress=2, message=mark)
        heard = json.dumps({"mark": mark, "sampled": sampled, "elicited": elicited})
        self._say(id=number, result=text(heard))
        self.close_connection = True

    def _tell(self, method: str, **params: Any) -> None:
        self._say(method=method, params=params)

    def _ask(self, method: str, params: Message) -> Message:
        question = f"q{next(NUMBERS)}"
        answers = ANSWERS[question] = Queue()
        self._say(id=question, method=method, params=params)
        answer = answers.get(timeout=60)
        return answer["result"] if "result" in answer else answer["error"]

    def _say(self, **fields: Any) -> None:
        self.wfile.write(f"data: {json.dumps({'jsonrpc': '2.0', **fields})}\n\n".encode())
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing to stderr."""


def _answer(method: str, params: Message) -> Message:
    match method:
        case "initialize":
            about = {"name": "talkative-http", "version": "1"}
            capabilities: Message = {"tools": {}, "logging": {}}
            version = params["protocolVersion"]
            return {"result": {"protocolVersion": version, "capabilities": capabilities, "serverInfo": about}}
        case "tools/list":
            return {"result": {"tools": [a_tool("talk")]}}
        case "ping" | "logging/setLevel":
            return {"result": {}}
        case _:
            return {"error": {"code": -32601, "message": f"no {method}"}}


class Listener(ThreadingHTTPServer):
    """Many at once."""

    request_queue_size = 256
    daemon_threads = True


def main() -> None:
    """Serve until the input ends."""
    server = Listener(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"http://127.0.0.1:{server.server_address[1]}/mcp\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
