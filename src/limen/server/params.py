"""The parameters clients send, method by method, read once into typed structs."""

from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from limen.errors import InvalidArguments
from limen.protocol.frames import RequestId
from limen.protocol.versions import META_CLIENT_CAPABILITIES, META_CLIENT_INFO, META_LOG_LEVEL, META_VERSION

__all__ = [
    "CallParams",
    "CompleteParams",
    "InitializeParams",
    "ListParams",
    "ListenParams",
    "LogLevelParams",
    "Meta",
    "Params",
    "ReadParams",
    "RetryParams",
    "SubscriptionFilter",
    "read_params",
]

_EMPTY = Raw(b"{}")


class Meta(
    msgspec.Struct,
    frozen=True,
    rename={
        "version": META_VERSION,
        "client_info": META_CLIENT_INFO,
        "client_capabilities": META_CLIENT_CAPABILITIES,
        "log_level": META_LOG_LEVEL,
        "progress_token": "progressToken",
    },
):
    """What travels in `_meta`: a progress token, and in 2026-07-28 the whole envelope."""

    progress_token: RequestId | None = None
    version: Any = None
    client_info: Any = None
    client_capabilities: Any = None
    log_level: Any = None


_NO_META = Meta()


class Params(msgspec.Struct, frozen=True, kw_only=True, rename={"meta": "_meta"}):
    """What every request may carry; in 2026-07-28 also the answers of an earlier round."""

    meta: Meta = _NO_META


class ListParams(Params, frozen=True, kw_only=True):
    """`…/list`"""

    cursor: str | None = None


class RetryParams(Params, frozen=True, kw_only=True, rename="camel"):
    """What the stateless revision adds when a client comes back with answers."""

    input_responses: dict[str, dict[str, Any]] | None = None
    request_state: str | None = None


class CallParams(RetryParams, frozen=True, kw_only=True):
    """`tools/call` and `prompts/get`"""

    name: str
    arguments: Raw = _EMPTY


class ReadParams(RetryParams, frozen=True, kw_only=True):
    """`resources/read`, `resources/subscribe`, `resources/unsubscribe`"""

    uri: str


class Reference(msgspec.Struct, frozen=True):
    """What a completion is for."""

    type: str
    name: str = ""
    uri: str = ""


class CompleteParams(Params, frozen=True, kw_only=True):
    """`completion/complete`"""

    ref: Reference
    argument: Raw


class LogLevelParams(Params, frozen=True, kw_only=True):
    """`logging/setLevel`"""

    level: str


class ClientInfo(msgspec.Struct, frozen=True):
    """How a client names itself."""

    name: str = ""
    version: str = ""


class InitializeParams(Params, frozen=True, kw_only=True, rename="camel"):
    """`initialize`"""

    protocol_version: str
    capabilities: dict[str, Any] = {}
    client_info: ClientInfo = ClientInfo()


class SubscriptionFilter(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a listener wants to hear."""

    tools_list_changed: bool | None = None
    prompts_list_changed: bool | None = None
    resources_list_changed: bool | None = None
    resource_subscriptions: list[str] | None = None


class ListenParams(Params, frozen=True, kw_only=True):
    """`subscriptions/listen`"""

    notifications: SubscriptionFilter


P = TypeVar("P", bound=Params)


def read_params(decoder: msgspec.json.Decoder[P], params: bytes) -> P:
    """The params of one request.

    Raises:
        InvalidArguments: a field is missing or of the wrong type; the message names it.
    """
    try:
        return decoder.decode(params)
    except msgspec.DecodeError as error:
        raise InvalidArguments(f"params: {error}") from None
