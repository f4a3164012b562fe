"""Every failure Limen understands, each with a stable public code, and what each code means outside."""

from msgspec import Struct


class LimenError(Exception):
    """A failure Limen understands; `code` is public and stable, `str()` is for people."""

    code = "internal"
    retryable = False

    def __init__(self, message: str, **facts: object) -> None:
        super().__init__(message)
        self.facts = facts


class ConfigInvalid(LimenError):
    """The configuration cannot be used as it is written."""

    code = "config_invalid"


class InvalidArguments(LimenError):
    """An argument is missing, unknown or of the wrong shape; the message names the field."""

    code = "invalid_arguments"


class InvalidPath(InvalidArguments):
    """A document path that cannot be one; the message names the rule it breaks."""

    code = "invalid_path"


class NotFound(LimenError):
    """What was named does not exist, or the caller may not see it."""

    code = "not_found"


class ResourceNotFound(NotFound):
    """No resource and no template answers to this URI."""

    code = "resource_not_found"


class NoBrain(NotFound):
    """No brain of this name that the caller may use, and none to fall back on."""

    code = "no_brain"


class Conflict(LimenError):
    """What the caller expected is no longer so; the facts tell what is."""

    code = "conflict"


class FileTooLarge(InvalidArguments):
    """A file or document beyond the size that is taken in."""

    code = "file_too_large"


class Unreadable(InvalidArguments):
    """A file whose content cannot be turned into text; the message says why."""

    code = "unreadable"


class FetchRefused(LimenError):
    """An address that must not be fetched from here, or that answered what must not be kept."""

    code = "fetch_refused"


class FetchFailed(LimenError):
    """An address that could not be fetched."""

    code = "fetch_failed"
    retryable = True


class JournalBroken(LimenError):
    """A brain's journal does not verify; the facts name the first bad commit."""

    code = "journal_broken"


class IndexBroken(LimenError):
    """A brain's index cannot be trusted; it is rebuilt from the documents."""

    code = "index_broken"
    retryable = True


class StoreFull(LimenError):
    """There is no room left on the disk; nothing of the change was kept."""

    code = "store_full"
    retryable = True


class Denied(LimenError):
    """Policy or a person said no; the facts carry the rule."""

    code = "denied"


class ApprovalPending(LimenError):
    """The call waits for a person."""

    code = "approval_pending"
    retryable = True


class AuthRequired(LimenError):
    """The caller has not shown who they are."""

    code = "auth_required"


class Unreachable(LimenError):
    """Nothing answers where something should."""

    code = "unreachable"
    retryable = True


class ToolFailed(LimenError):
    """A tool ran and reported failure."""

    code = "tool_failed"


class AuditUnavailable(LimenError):
    """The audit trail cannot be written, so nothing that writes may run."""

    code = "audit_unavailable"
    retryable = True


class AuditBroken(LimenError):
    """The audit chain does not verify; the facts name the first bad row."""

    code = "audit_broken"


class StoreUnavailable(LimenError):
    """A database cannot be opened or written."""

    code = "store_unavailable"
    retryable = True


class ProtocolError(LimenError):
    """A message that MCP or JSON-RPC does not allow."""

    code = "invalid_request"


class ParseFailed(ProtocolError):
    """The bytes are not JSON."""

    code = "parse_error"


class TooLarge(ProtocolError):
    """A frame, body, string or nesting beyond its limit; the facts name the limit."""

    code = "too_large"


class DuplicateRequest(ProtocolError):
    """A request id that is still in flight was used again."""

    code = "duplicate_request"


class MethodNotFound(ProtocolError):
    """No such method in the revision spoken."""

    code = "method_not_found"


class UnsupportedVersion(ProtocolError):
    """A protocol revision that is not served here; the facts name those that are."""

    code = "unsupported_version"


class HeaderMismatch(ProtocolError):
    """An HTTP header contradicts the message it travels with."""

    code = "header_mismatch"


class MissingClientCapability(ProtocolError):
    """The call needs something of the client that it did not declare."""

    code = "missing_client_capability"


class NotInitialized(ProtocolError):
    """A request of a session-based revision before `initialize`."""

    code = "not_initialized"


class SessionNotFound(ProtocolError):
    """The session is unknown, expired, or somebody else's."""

    code = "session_not_found"


class Overloaded(LimenError):
    """A limit on connections, sessions or queued work is reached."""

    code = "overloaded"
    retryable = True


class RequestCancelled(LimenError):
    """The one who asked took the request back."""

    code = "cancelled"


class RequestTimeout(LimenError):
    """No answer within the deadline."""

    code = "timeout"
    retryable = True


class ChannelClosed(LimenError):
    """The other side is gone."""

    code = "channel_closed"
    retryable = True


class UpstreamError(LimenError):
    """An upstream server failed, or answered what cannot be used."""

    code = "upstream_error"


class UpstreamTimeout(UpstreamError):
    """An upstream server did not answer in time."""

    code = "upstream_timeout"
    retryable = True


class RemoteError(LimenError):
    """A JSON-RPC error the other side answered; its code and data pass on unchanged."""

    code = "remote_error"

    def __init__(self, message: str, *, rpc_code: int, data: bytes | None = None) -> None:
        super().__init__(message, rpc_code=rpc_code)
        self.rpc_code = rpc_code
        self.data = data


class Face(Struct, frozen=True):
    """How one error code looks from outside: on the wire, over HTTP, to a shell."""

    rpc: int
    http: int
    exit: int


FACES: dict[str, Face] = {
    "internal": Face(rpc=-32603, http=500, exit=1),
    "config_invalid": Face(rpc=-32603, http=500, exit=1),
    "invalid_arguments": Face(rpc=-32602, http=400, exit=2),
    "invalid_path": Face(rpc=-32602, http=400, exit=2),
    "no_brain": Face(rpc=-32602, http=404, exit=8),
    "conflict": Face(rpc=-32009, http=409, exit=1),
    "file_too_large": Face(rpc=-32602, http=413, exit=2),
    "unreadable": Face(rpc=-32602, http=415, exit=2),
    "fetch_refused": Face(rpc=-32003, http=403, exit=6),
    "fetch_failed": Face(rpc=-32005, http=502, exit=4),
    "journal_broken": Face(rpc=-32603, http=500, exit=1),
    "index_broken": Face(rpc=-32603, http=503, exit=1),
    "store_full": Face(rpc=-32603, http=507, exit=1),
    "not_found": Face(rpc=-32602, http=404, exit=8),
    "resource_not_found": Face(rpc=-32002, http=404, exit=8),
    "denied": Face(rpc=-32003, http=403, exit=6),
    "approval_pending": Face(rpc=-32004, http=403, exit=7),
    "auth_required": Face(rpc=-32001, http=401, exit=3),
    "unreachable": Face(rpc=-32005, http=502, exit=4),
    "tool_failed": Face(rpc=-32603, http=500, exit=5),
    "audit_unavailable": Face(rpc=-32006, http=503, exit=1),
    "audit_broken": Face(rpc=-32603, http=500, exit=1),
    "store_unavailable": Face(rpc=-32603, http=503, exit=1),
    "invalid_request": Face(rpc=-32600, http=400, exit=1),
    "parse_error": Face(rpc=-32700, http=400, exit=1),
    "too_large": Face(rpc=-32600, http=413, exit=1),
    "duplicate_request": Face(rpc=-32600, http=400, exit=1),
    "method_not_found": Face(rpc=-32601, http=404, exit=1),
    "unsupported_version": Face(rpc=-32022, http=400, exit=1),
    "header_mismatch": Face(rpc=-32020, http=400, exit=1),
    "missing_client_capability": Face(rpc=-32021, http=400, exit=1),
    "not_initialized": Face(rpc=-32600, http=400, exit=1),
    "session_not_found": Face(rpc=-32001, http=404, exit=1),
    "overloaded": Face(rpc=-32007, http=503, exit=4),
    "cancelled": Face(rpc=-32800, http=499, exit=1),
    "timeout": Face(rpc=-32001, http=504, exit=4),
    "channel_closed": Face(rpc=-32000, http=502, exit=4),
    "upstream_error": Face(rpc=-32603, http=502, exit=4),
    "upstream_timeout": Face(rpc=-32001, http=504, exit=4),
    "remote_error": Face(rpc=-32603, http=502, exit=5),
}


def face_of(error: LimenError) -> Face:
    """How this error looks outside."""
    return FACES[error.code]


def error_of(code: str, message: str) -> LimenError:
    """The error that a code stands for, as somebody else told it; a tool's failure when the code is unknown."""
    waiting = [LimenError]
    while waiting:
        kind = waiting.pop()
        if kind.code == code and kind is not RemoteError:
            return kind(message)
        waiting += kind.__subclasses__()
    return ToolFailed(message)
