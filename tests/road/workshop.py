"""A toolset with one tool for each thing a call can do: answer, fail, wait, report, ask, let go."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from limen.calls.call import Call, Question
from limen.errors import InvalidArguments, ToolFailed
from limen.toolsets.provider import (
    Contents,
    Prompt,
    PromptArgument,
    Reply,
    Resource,
    Template,
    Tool,
    Toolset,
    text,
)


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No arguments."""


class EchoArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `echo` takes."""

    text: str
    times: int = 1


class AskArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `ask` takes: how many questions, one after the other."""

    rounds: int = 1
    about: str = ""


ROUTED: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string", "x-mcp-header": "Text"}, "times": {"type": "integer"}},
    "required": ["text"],
}


class Workshop:
    """The tools, and the events by which a test follows them."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.go = asyncio.Event()
        self.wrote: list[str] = []
        self.asked_again = 0
        self.toolset = Toolset(
            "workshop",
            tools=[
                Tool("echo", "Says it back.", EchoArgs, self.echo),
                Tool("wait", "Waits until it may go on.", Nothing, self.wait),
                Tool("fail", "Fails.", Nothing, self.fail),
                Tool("crash", "Has a bug.", Nothing, self.crash),
                Tool("report", "Reports progress and logs.", Nothing, self.report),
                Tool("ask", "Asks the client.", AskArgs, self.ask),
                Tool("pair", "Asks the client two things at once.", Nothing, self.pair),
                Tool("let_go", "Lets go of its stream, then answers.", Nothing, self.let_go),
                Tool("write", "Changes something.", EchoArgs, self.write, action="write", tier="write"),
                Tool("routed", "Has a header for its argument.", EchoArgs, self.echo, input_schema=ROUTED),
            ],
            resources=[Resource("x://note", "note", "A note.", self.note)],
            templates=[
                Template("x://page/{number}", "page", "A page.", self.page, completions={"number": self.numbers})
            ],
            prompts=[
                Prompt(
                    "greet",
                    "Greets.",
                    self.greet,
                    [PromptArgument("name", "Whom.", required=True)],
                    {"name": self.names},
                )
            ],
        )

    async def echo(self, args: EchoArgs, call: Call) -> Reply:
        return Reply([text(args.text * args.times)], structured={"said": args.text})

    async def wait(self, args: Nothing, call: Call) -> Reply:
        self.started.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return Reply([text("went on")])

    async def fail(self, args: Nothing, call: Call) -> Reply:
        raise ToolFailed("it did not work")

    async def crash(self, args: Nothing, call: Call) -> Reply:
        raise RuntimeError("a secret of the implementation")

    async def report(self, args: Nothing, call: Call) -> Reply:
        for step in (1, 2):
            await call.exchange.progress(step, 2, f"step {step}")
        await call.exchange.log("debug", "chatter")
        await call.exchange.log("error", {"what": "trouble"}, "workshop")
        return Reply([text("reported")])

    async def ask(self, args: AskArgs, call: Call) -> Reply:
        said: list[Any] = []
        for number in range(args.rounds):
            question = Question("elicitation/create", {"mode": "form", "message": f"number {number}?"})
            answers = await call.exchange.ask({f"q{number}": question})
            said.append(answers[f"q{number}"])
        return Reply([text("thanks")], structured={"said": said})

    async def pair(self, args: Nothing, call: Call) -> Reply:
        questions = {"roots": Question("roots/list"), "form": Question("elicitation/create", {"message": "and you?"})}
        return Reply([text("thanks")], structured=dict(await call.exchange.ask(questions)))

    async def let_go(self, args: Nothing, call: Call) -> Reply:
        await call.exchange.release()
        self.started.set()
        await self.go.wait()
        return Reply([text("came back")])

    async def write(self, args: EchoArgs, call: Call) -> Reply:
        if args.text == "nonsense":
            raise InvalidArguments("text: write something sensible", field="text")
        self.wrote.append(args.text)
        return Reply([text("written")])

    async def note(self, call: Call) -> Contents:
        return Contents("a note")

    async def page(self, call: Call, values: Mapping[str, str]) -> Contents:
        return Contents(f"page {values['number']}")

    async def greet(self, call: Call, arguments: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
        return [{"role": "user", "content": text(f"greet {arguments['name']}")}]

    def numbers(self, typed: str) -> Sequence[str]:
        return [number for number in ("1", "10", "2") if number.startswith(typed)]

    def names(self, typed: str) -> Sequence[str]:
        return [name for name in ("ada", "alan", "bob") if name.startswith(typed)]
