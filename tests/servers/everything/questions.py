"""Tools and a prompt that need an answer of the client: from a person, a model, or its list of roots."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from limen.calls.call import Call, Question
from limen.errors import ToolFailed
from limen.toolsets.provider import Prompt, Reply, Tool, text
from tests.servers.everything.content import Nothing


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to ask a person."""

    message: str


class Prompted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to ask a model."""

    prompt: str


def form(message: str, properties: Mapping[str, Any], *required: str) -> Question:
    """A question to a person, answered by filling in a form."""
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return Question("elicitation/create", {"message": message, "requestedSchema": schema})


def sample(prompt: str) -> Question:
    """A question to the client's model."""
    message = {"role": "user", "content": {"type": "text", "text": prompt}}
    return Question("sampling/createMessage", {"messages": [message], "maxTokens": 100})


ROOTS = Question("roots/list")
NAME = form("Who are you?", {"name": {"type": "string"}}, "name")
CONFIRM = form("Shall we go on?", {"ok": {"type": "boolean"}}, "ok")

DEFAULTS = form(
    "Everything here has a default.",
    {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
)


def _titled(kind: str) -> list[dict[str, str]]:
    return [{"const": f"value{n}", "title": f"{ordinal} {kind}"} for n, ordinal in enumerate(("First", "Second"), 1)]


CHOICES = form(
    "Every way to offer a choice.",
    {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2"]},
        "titledSingle": {"type": "string", "oneOf": _titled("option")},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["One", "Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": _titled("choice")}},
    },
)


class Filled(msgspec.Struct, frozen=True):
    """A form that came back, or was sent away."""

    action: str
    content: dict[str, Any] = {}


def _filled(answer: object) -> Filled:
    try:
        return msgspec.convert(answer, Filled)
    except msgspec.ValidationError as error:
        raise ToolFailed(f"the client's answer is no filled form: {error}") from None


def _told(answer: object) -> Reply:
    filled = _filled(answer)
    return Reply([text(f"action={filled.action}, content={json.dumps(filled.content, sort_keys=True)}")])


def _field(answer: object, name: str) -> str:
    return str(_filled(answer).content.get(name, "nobody"))


def _asking(name: str, description: str, question: Question, key: str = "answer") -> Tool:
    """A tool that puts one question and tells what came back."""

    async def run(_: Nothing, call: Call) -> Reply:
        return _told((await call.exchange.ask({key: question}))[key])

    return Tool(name, description, Nothing, run)


async def _elicit(args: Asked, call: Call) -> Reply:
    person = {"username": {"type": "string"}, "email": {"type": "string"}}
    answers = await call.exchange.ask({"person": form(args.message, person, "username", "email")})
    return _told(answers["person"])


async def _sample(args: Prompted, call: Call) -> Reply:
    answer = (await call.exchange.ask({"reply": sample(args.prompt)}))["reply"]
    return Reply([text(f"the model said: {answer['content'].get('text', '')}")])


async def _greet(_: Nothing, call: Call) -> Reply:
    answer = (await call.exchange.ask({"user_name": NAME}))["user_name"]
    return Reply([text(f"Hello, {_field(answer, 'name')}!")])


async def _capital(_: Nothing, call: Call) -> Reply:
    answer = await call.exchange.ask({"capital_question": sample("What is the capital of France?")})
    return Reply([text(str(answer["capital_question"]["content"].get("text", "")))])


async def _roots(_: Nothing, call: Call) -> Reply:
    answer = (await call.exchange.ask({"client_roots": ROOTS}))["client_roots"]
    return Reply([text("roots: " + ", ".join(root["uri"] for root in answer["roots"]))])


async def _state(_: Nothing, call: Call) -> Reply:
    await call.exchange.ask({"confirm": CONFIRM})
    return Reply([text("state-ok")])


async def _several(_: Nothing, call: Call) -> Reply:
    answers = await call.exchange.ask(
        {"user_name": NAME, "greeting": sample("Write one greeting."), "client_roots": ROOTS}
    )
    greeting = answers["greeting"]["content"].get("text", "")
    return Reply(
        [text(f"{greeting} {_field(answers['user_name'], 'name')}, {len(answers['client_roots']['roots'])} roots")]
    )


async def _rounds(_: Nothing, call: Call) -> Reply:
    first = await call.exchange.ask({"step1": NAME})
    color = form("Which colour?", {"color": {"type": "string"}}, "color")
    second = await call.exchange.ask({"step2": color})
    return Reply([text(f"{_field(first['step1'], 'name')} likes {_field(second['step2'], 'color')}")])


async def _whoever_can(_: Nothing, call: Call) -> Reply:
    """Ask only what this client said it can answer."""
    able = {
        "name": ("elicitation", NAME),
        "line": ("sampling", sample("Write one line.")),
        "places": ("roots", ROOTS),
    }
    questions = {key: question for key, (feature, question) in able.items() if call.exchange.supports(feature)}
    answers = await call.exchange.ask(questions)
    return Reply([text("answered: " + ", ".join(sorted(answers)))])


async def _context_prompt(call: Call, _: Mapping[str, str]) -> list[dict[str, Any]]:
    question = form("What is this about?", {"context": {"type": "string"}}, "context")
    answer = (await call.exchange.ask({"user_context": question}))["user_context"]
    return [{"role": "user", "content": text(f"Consider this: {_field(answer, 'context')}")}]


TOOLS = (
    Tool("test_elicitation", "Asks a person for a name and an address.", Asked, _elicit),
    Tool("test_sampling", "Asks the client's model.", Prompted, _sample),
    _asking("test_elicitation_sep1034_defaults", "Asks with a default for every field.", DEFAULTS),
    _asking("test_elicitation_sep1330_enums", "Asks with every kind of choice.", CHOICES),
    _asking("test_streaming_elicitation", "Asks a person in the middle of its work.", CONFIRM),
    Tool("test_missing_capability", "Cannot do without the client's model.", Nothing, _capital),
    Tool("test_input_required_result_elicitation", "Greets by name.", Nothing, _greet),
    Tool("test_input_required_result_sampling", "Leaves a question to the model.", Nothing, _capital),
    Tool("test_input_required_result_list_roots", "Names the client's roots.", Nothing, _roots),
    Tool("test_input_required_result_request_state", "Goes on once confirmed.", Nothing, _state),
    Tool("test_input_required_result_tampered_state", "Goes on once confirmed, if nobody meddled.", Nothing, _state),
    Tool("test_input_required_result_multiple_inputs", "Asks three things at once.", Nothing, _several),
    Tool("test_input_required_result_multi_round", "Asks one thing after another.", Nothing, _rounds),
    Tool("test_input_required_result_capabilities", "Asks what the client can answer.", Nothing, _whoever_can),
)

PROMPT = Prompt("test_input_required_result_prompt", "A prompt about what a person names.", _context_prompt)
