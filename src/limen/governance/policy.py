"""Decides calls by rules; this first policy knows one: who is at this machine may use what their tier shows them."""

from limen.calls.call import Allow, Call, Capability, Decision, Deny

__all__ = ["LOCAL_ROLE", "LocalPolicy"]

LOCAL_ROLE = "local"
"""The role a door gives to callers of this machine's own user."""


class LocalPolicy:
    """Allows local callers and nobody else."""

    def decide(self, call: Call, capability: Capability) -> Decision:
        """Allow or deny, by whether the door knew the caller as local."""
        if LOCAL_ROLE in call.caller.roles:
            return _ALLOW
        return _DENY


_ALLOW = Allow("local-default")
_DENY = Deny("remote-default", "only callers of this machine may use this hub")
