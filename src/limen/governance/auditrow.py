"""What an audit row says: the exact JSON text that is hashed and kept; raw arguments and secrets stay out of it."""

import hashlib
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from typing import Any, Literal

import orjson

from limen.calls.call import Call, Capability, Outcome
from limen.clock import timestamp
from limen.redact import redact_text, redact_value

__all__ = ["ArgumentsKept", "RowWriter"]

ArgumentsKept = Literal["digest", "redacted"]

# Filled in as bytes, which takes a third of the time of building and encoding an object. An id is one of ours and needs
# no quoting.
_INTENT = b'{"id":"%b","phase":"intent","at":"%b",%b,"args":%b,"run":%b}'
_OUTCOME = b'{"id":"%b","phase":"outcome","at":"%b",%b,"args":%b,%b,"duration_ms":%.3f,"bytes_out":%d}'
_DIGEST = b'"sha256:%b"'
_BOTH = _INTENT + b"\n" + _OUTCOME + b"\n"
_MAX_TEXT = 512
_MAX_ARGUMENTS = 16_384
_MAX_KNOWN = 512

_Facts = tuple[str, ...]

_SHORT = 192
"""So many bytes of arguments are hashed by Python itself: OpenSSL is quicker per byte, and slower to begin."""


def _find_own_sha256() -> Callable[[bytes], Any]:
    # hashlib has it for builds without OpenSSL, and no public name for it.
    find = getattr(hashlib, "__get_builtin_constructor", None)
    try:
        return sha256 if find is None else find("sha256")
    except ValueError:
        return sha256


_own_sha256 = _find_own_sha256()


class RowWriter:
    """Writes the bodies of one run's rows; `arguments` says whether their digest or redacted values are kept."""

    __slots__ = ("_at_ms", "_at_text", "_facts", "_is_redacted", "_run", "_second", "_second_text")

    def __init__(self, run: str, arguments: ArgumentsKept = "digest") -> None:
        self._run = _quoted(run)
        self._is_redacted = arguments == "redacted"
        self._facts: dict[_Facts, bytes] = {}
        self._at_ms: int = -1
        self._at_text = b""
        self._second: int = -1
        self._second_text = b""

    def intent(self, call: Call, capability: Capability, rule: str, at_ms: int) -> bytes:
        """The row that says what is about to happen, and in which process."""
        args = self._keep(call.arguments)
        facts = self._tell(_facts_of(call, capability, rule))
        return _INTENT % (call.id.encode(), self._at(at_ms), facts, args, self._run)

    def outcome(self, call: Call, capability: Capability | None, rule: str, outcome: Outcome, at_ms: int) -> bytes:
        """The row that says what came of it, by the rule of its intent unless it was another's."""
        return _OUTCOME % (
            call.id.encode(),
            self._at(at_ms),
            self._tell(_facts_of(call, capability, outcome.rule or rule)),
            self._keep(call.arguments),
            _ending(outcome.status, outcome.code),
            outcome.duration_ms,
            outcome.bytes_out,
        )

    def both(  # noqa: PLR0913 - the two rows above in one go, for half the price
        self, call: Call, capability: Capability, rule: str, began_ms: int, outcome: Outcome, ended_ms: int
    ) -> bytes:
        """Intent and outcome of a call, as two lines."""
        call_id, caller, own = call.id.encode(), call.caller, outcome.rule
        # Written out here and not left to others: this runs for every read, and each step away costs when it is cold.
        key = (
            caller.subject,
            caller.client,
            caller.tenant,
            call.method,
            call.kind,
            capability.source,
            call.name,
            capability.action,
            rule,
        )
        facts = self._facts.get(key) or self._tell(key)
        args = call.arguments
        if self._is_redacted or len(args) > _SHORT:
            args = self._keep(args)
        else:
            args = _DIGEST % _own_sha256(args).hexdigest().encode()
        return _BOTH % (
            call_id,
            self._at_text if began_ms == self._at_ms else self._at(began_ms),
            facts,
            args,
            self._run,
            call_id,
            self._at_text if ended_ms == self._at_ms else self._at(ended_ms),
            facts if own == rule or not own else self._tell((*key[:-1], own)),
            args,
            _ending(outcome.status, outcome.code),
            outcome.duration_ms,
            outcome.bytes_out,
        )

    def _tell(self, key: _Facts) -> bytes:
        """Who called what, by which rule, as fields of a JSON object: the same for many calls, so it is remembered."""
        facts = self._facts.get(key)
        if facts is None:
            facts = _encode(key)
            # Bounded in number and in size, whatever names callers come up with.
            if max(map(len, key)) <= _MAX_TEXT:
                if len(self._facts) >= _MAX_KNOWN:
                    self._facts.clear()
                self._facts[key] = facts
        return facts

    def _keep(self, arguments: bytes) -> bytes:
        if self._is_redacted and len(arguments) <= _MAX_ARGUMENTS:
            try:
                return orjson.dumps(redact_value(orjson.loads(arguments)))
            except orjson.JSONDecodeError:
                pass
        return _DIGEST % sha256(arguments).hexdigest().encode()

    def _at(self, ms: int) -> bytes:
        # Formatting a date costs more than hashing a row; within a second only the last digits differ.
        if ms != self._at_ms:
            second, rest = divmod(ms, 1000)
            if second != self._second:
                self._second, self._second_text = second, timestamp(ms)[:20].encode()
            self._at_ms, self._at_text = ms, b"%b%03dZ" % (self._second_text, rest)
        return self._at_text


def _facts_of(call: Call, capability: Capability | None, rule: str) -> _Facts:
    caller = call.caller
    source, action = (capability.source, capability.action) if capability is not None else ("", "")
    return (
        caller.subject,
        caller.client,
        caller.tenant,
        call.method,
        call.kind,
        source,
        call.name,
        action,
        rule,
    )


def _encode(facts: _Facts) -> bytes:
    subject, client, tenant, method, kind, source, name, action, rule = facts
    name = name[:_MAX_TEXT]
    fields = {
        "subject": subject[:_MAX_TEXT],
        "client": client[:_MAX_TEXT],
        "method": method,
        "kind": kind,
        "server": source,
        "name": redact_text(name) if ":" in name else name,
        "class": action,
        "rule": rule,
    }
    if tenant:
        fields["tenant"] = tenant[:_MAX_TEXT]
    return orjson.dumps({key: _utf8(text) for key, text in fields.items()})[1:-1]


@lru_cache(maxsize=256)
def _ending(status: str, code: str) -> bytes:
    # Few words, written over and over.
    return b'"status":%b,"code":%b' % (_quoted(status), _quoted(code))


def _quoted(text: str) -> bytes:
    return orjson.dumps(_utf8(text))


def _utf8(text: str) -> str:
    # A lone surrogate is text that JSON can escape and UTF-8 cannot hold.
    return text.encode("utf-8", "replace").decode()
