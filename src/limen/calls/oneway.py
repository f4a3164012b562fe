"""The way back to a caller who has none: REST and the command line wait for the result and answer no questions."""

from collections.abc import Mapping
from typing import Any

from limen.calls.call import Question
from limen.errors import MissingClientCapability

__all__ = ["OneWay"]


class OneWay:
    """An exchange that nobody listens to."""

    is_lasting = True
    wants_progress = False
    log_level = None
    state = ""

    @property
    def session(self) -> object:
        """Each stands for itself."""
        return self

    @property
    def answers(self) -> Mapping[str, Any]:
        """There are none."""
        return {}

    def supports(self, feature: str) -> bool:
        """Nothing can be asked of this caller."""
        return False

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Nobody asked for progress."""

    async def log(self, level: str, data: object, logger: str | None = None) -> None:
        """Nobody wants log messages."""

    async def relay(self, method: str, params: bytes) -> None:
        """Nobody listens."""

    async def ask(self, questions: Mapping[str, Question], *, state: str = "") -> Mapping[str, Any]:
        """Refuse.

        Raises:
            MissingClientCapability: always.
        """
        methods = ", ".join(sorted({question.method for question in questions.values()}))
        raise MissingClientCapability(f"this caller cannot answer {methods}; use an MCP client that can")

    async def release(self) -> None:
        """There is no stream to let go of."""
