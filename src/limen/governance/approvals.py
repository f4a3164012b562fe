"""Puts a call to a person; where there is nobody to ask, the answer is no."""

from limen.calls.call import Call, Capability

__all__ = ["NoApprover"]


class NoApprover:
    """Nobody is there to be asked, so every question is answered with no."""

    async def approve(self, call: Call, capability: Capability, question: str) -> bool:
        """Refuse."""
        return False
