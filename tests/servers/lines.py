"""A peer for channel tests on stdin and stdout, with nothing of Limen in it.

`echo` answers with its params, `big` with as many bytes as asked, `leave` with nothing: it exits.
"""

import json
import sys


def main() -> None:
    """Answer line by line until the input ends."""
    sys.stderr.write("peer started\n")
    for line in sys.stdin.buffer:
        request = json.loads(line)
        match request.get("method"):
            case "echo":
                result = request["params"]
            case "big":
                result = {"text": "x" * request["params"]["size"]}
            case "leave":
                sys.stderr.write("peer leaves\n")
                sys.exit(3)
            case _:
                continue
        reply = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result})
        sys.stdout.buffer.write(reply.encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
