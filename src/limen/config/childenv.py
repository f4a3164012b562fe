"""The environment that programs started by Limen begin with: what any program needs to run, and none of the secrets."""

from collections.abc import Mapping
from typing import Final

__all__ = ["child_environment"]

_NAMES: Final = """
    PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TEMP TMP XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME
    XDG_STATE_HOME XDG_RUNTIME_DIR HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY SSL_CERT_FILE SSL_CERT_DIR
    NODE_EXTRA_CA_CERTS SYSTEMROOT WINDIR COMSPEC PATHEXT APPDATA LOCALAPPDATA PROGRAMDATA USERPROFILE
"""
_KEPT: Final = frozenset(_NAMES.split())


def child_environment(env: Mapping[str, str]) -> dict[str, str]:
    """What is passed on of an environment; all else a server needs stands in its entry."""
    return {name: value for name, value in env.items() if name.upper() in _KEPT or name.startswith("LC_")}
