"""Where the hub of these settings is reached, and what it answers there."""

import http.client
import json
from collections.abc import Mapping
from typing import Any

from limen.config.model import ServerSettings
from limen.errors import Unreachable
from limen.shapes import is_object

__all__ = ["ask_health", "base_url"]

_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
_MOST_BYTES = 65_536


def base_url(server: ServerSettings) -> str:
    """The hub's address as somebody on this machine reaches it."""
    host = _reachable(server.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{server.port}"


def ask_health(server: ServerSettings, *, timeout_s: float = 3.0) -> Mapping[str, Any]:
    """What `/healthz` answers.

    Raises:
        Unreachable: nothing answers there, or it is no healthy Limen.
    """
    url = base_url(server)
    # The client of the standard library: this runs every few seconds in a container, and must be quick to load.
    connection = http.client.HTTPConnection(_reachable(server.host), server.port, timeout=timeout_s)
    try:
        connection.request("GET", "/healthz", headers={"Connection": "close"})
        response = connection.getresponse()
        answer = json.loads(response.read(_MOST_BYTES))
    except (OSError, http.client.HTTPException, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise Unreachable(f"no hub answers at {url}: {why}", url=url, fix="start it with `limen serve`") from error
    finally:
        connection.close()
    if response.status != 200 or not is_object(answer) or answer.get("status") != "ok":
        raise Unreachable(f"what answers at {url} is no healthy Limen (HTTP {response.status})", url=url)
    return answer


def _reachable(host: str) -> str:
    host = host.strip("[]")
    return _ANY.get(host, host)
