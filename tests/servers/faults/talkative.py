"""Says all it can during a call: progress, a log line, a question to the model, one to the person, one about roots.

Everything carries the caller's mark, and the result tells what came back.
"""

import json

from tests.servers.speaking import Asking, Message, Server, text


def sampling(mark: str) -> Message:
    """A question to the client's model."""
    return {"messages": [{"role": "user", "content": {"type": "text", "text": mark}}], "maxTokens": 5}


def elicitation(mark: str) -> Message:
    """A question to the person at the client."""
    return {"message": mark, "requestedSchema": {"type": "object", "properties": {"mark": {"type": "string"}}}}


class Talkative(Server):
    """Never works in silence."""

    def __init__(self) -> None:
        super().__init__()
        self.capabilities = {"tools": {}, "logging": {}}
        self.tools["talk"] = self.talk

    def talk(self, arguments: Message) -> Asking:
        """Use every way to the client, in order."""
        mark: str = arguments["mark"]
        token = self.call["params"].get("_meta", {}).get("progressToken")
        if token is not None:
            self.tell("notifications/progress", progressToken=token, progress=1, message=mark)
        self.tell("notifications/message", level="info", data=mark)
        sampled = yield "sampling/createMessage", sampling(mark)
        elicited = yield "elicitation/create", elicitation(mark)
        roots = yield "roots/list", {}
        if token is not None:
            self.tell("notifications/progress", progressToken=token, progress=2, message=mark)
        heard = {"sampled": sampled, "elicited": elicited, "roots": roots}
        return text(json.dumps({key: answer.get("result", answer.get("error")) for key, answer in heard.items()}))


if __name__ == "__main__":
    Talkative().run()
