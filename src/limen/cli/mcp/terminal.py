"""The way back to the person at the terminal while a server works: progress, log messages, and its questions."""

from collections.abc import Mapping
from typing import Any

import msgspec

from limen.calls.call import Question
from limen.cli.mcp.forms import Cancelled, fill_form
from limen.cli.mcp.keyboard import Keyboard
from limen.cli.output import Output
from limen.cli.printable import printable
from limen.errors import MissingClientCapability

__all__ = ["TerminalExchange"]

_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_ASKED = frozenset({"elicitation", "elicitation.form", "elicitation.url"})


class _Progress(msgspec.Struct):
    progress: float = 0
    total: float | None = None
    message: str | None = None


class _Logged(msgspec.Struct):
    level: str = "info"
    data: Any = None
    logger: str | None = None


class TerminalExchange:
    """An exchange with a person. Where there is none, questions are refused and nothing else is shown."""

    is_lasting = True
    state = ""

    def __init__(self, output: Output, server: str) -> None:
        self._output = output
        self._server = server
        self._keyboard = Keyboard(output)

    @property
    def session(self) -> object:
        """Each stands for itself."""
        return self

    @property
    def wants_progress(self) -> bool:
        """When somebody watches."""
        return self._output.is_watched

    @property
    def log_level(self) -> str | None:
        """What may interest whoever watches; nobody else hears anything."""
        return "info" if self._output.is_watched else None

    @property
    def answers(self) -> Mapping[str, Any]:
        """Questions are answered as they come."""
        return {}

    def supports(self, feature: str) -> bool:
        """Forms and pages, when somebody is there; roots are told from the settings."""
        return feature in _ASKED and self._keyboard.is_there

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Show how far it is."""
        share = f"{progress / total:.0%}" if total and 0 <= progress <= total else f"{progress:g}"
        self._output.tick(f"{self._server}: {share}{f' {message}' if message else ''}")

    async def log(self, level: str, data: object, logger: str | None = None) -> None:
        """Show a message of the server."""
        if self.log_level is None or level not in _LEVELS or _LEVELS.index(level) < _LEVELS.index(self.log_level):
            return
        told = data if isinstance(data, str) else msgspec.json.encode(data).decode()
        source = f"{self._server} {logger}" if logger else self._server
        self._output.say(f"{self._output.paint(f'{level}:', 'quiet')} {printable(f'{source}: {told}')}")

    async def relay(self, method: str, params: bytes) -> None:
        """Show what the server says at this call."""
        if method == "notifications/progress":
            news = msgspec.json.decode(params, type=_Progress)
            await self.progress(news.progress, news.total, news.message)
        elif method == "notifications/message":
            said = msgspec.json.decode(params, type=_Logged)
            await self.log(said.level, said.data, said.logger)

    async def ask(self, questions: Mapping[str, Question], *, state: str = "") -> Mapping[str, Any]:
        """Put each question to the person, one after the other.

        Raises:
            MissingClientCapability: nobody is there, or a person cannot answer this.
        """
        return {key: await self._answer(question) for key, question in questions.items()}

    async def _answer(self, question: Question) -> Any:
        if question.method != "elicitation/create":
            raise MissingClientCapability(
                f"{self._server} asks for {question.method}, which the command line cannot answer; use an MCP client"
            )
        params = question.params
        if not self._keyboard.is_there:
            message = f"{self._server} asks: {printable(str(params.get('message', '')))}"
            self._output.say(f"{message}\nnobody is at a terminal to answer, so it was refused")
            raise MissingClientCapability(f"{message}; nobody is at a terminal to answer", server=self._server)
        self._output.say(
            f"{self._output.paint(f'{self._server} asks:', 'strong')} {printable(str(params.get('message', '')))}"
        )
        return await (self._visit(params) if params.get("mode") == "url" else self._fill(params))

    async def _visit(self, params: Mapping[str, Any]) -> dict[str, Any]:
        self._output.say(f"  {printable(str(params.get('url', '')))}")
        is_wanted = await self._keyboard.confirm("Open this page in your browser, then say yes.", default=False)
        return {"action": "accept" if is_wanted else "decline"}

    async def _fill(self, params: Mapping[str, Any]) -> dict[str, Any]:
        if not await self._keyboard.confirm("Answer?", default=True):
            return {"action": "decline"}
        try:
            content = await fill_form(params.get("requestedSchema"), self._keyboard.ask, self._output.say)
        except Cancelled:
            return {"action": "cancel"}
        return {"action": "accept", "content": content}

    async def release(self) -> None:
        """There is no stream to let go of."""
