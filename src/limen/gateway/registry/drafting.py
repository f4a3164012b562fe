"""From a registry's record to an entry of the settings: programs before addresses, and pinned versions only."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from limen.errors import InvalidArguments
from limen.gateway.registry.placeholders import Draft, literal
from limen.gateway.registry.records import Argument, KeyValue, Package, Remote, ServerRecord

__all__ = ["draft_entry"]

_NPM: Final = re.compile(r"(@[a-z0-9~][a-z0-9._~-]*/)?[a-zA-Z0-9~][a-zA-Z0-9._~-]*")
_PYPI: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_IMAGE: Final = re.compile(r"[a-z0-9][A-Za-z0-9._/:-]*(@sha256:[0-9a-f]{64})?")
_VERSION: Final = re.compile(r"[0-9][0-9A-Za-z.+!-]*")
_MOVING: Final = frozenset({"latest", "stable", "edge", "main", "master", "dev", "nightly"})
_RUNTIMES: Final[Mapping[str, Sequence[str]]] = {
    "npm": ("npx",),
    "pypi": ("uvx",),
    "oci": ("docker", "podman"),
    "nuget": ("dnx",),
}
"""What starts a package of each kind; a record can choose among these and nothing else."""
_RISKY: Final = ("--privileged", "--volume", "-v", "--mount", "--network", "--net", "--device", "--pid", "--cap-add")


def draft_entry(record: ServerRecord, prefix: str) -> Draft:
    """An entry for the first package that can be started, else for the first address.

    `prefix` begins the variables that stand for what the record leaves to the user.

    Raises:
        InvalidArguments: nothing in the record can be used; the message says why of each.
    """
    reasons: list[str] = []
    for package in record.packages or ():
        draft = Draft()
        try:
            _take_package(draft, package, prefix)
        except InvalidArguments as error:
            reasons.append(f"{package.registry_type or 'a'} package {package.identifier}: {error}")
        else:
            draft.notes += [f"passed over: {reason}" for reason in reasons]
            return draft
    for remote in record.remotes or ():
        draft = Draft()
        try:
            _take_remote(draft, remote, prefix)
        except InvalidArguments as error:
            reasons.append(f"{remote.url}: {error}")
        else:
            draft.notes += [f"passed over: {reason}" for reason in reasons]
            return draft
    told = "; ".join(reasons) or "it names neither a package nor an address"
    raise InvalidArguments(f"{record.name} cannot be added: {told}")


def _take_package(draft: Draft, package: Package, prefix: str) -> None:
    if package.transport.type != "stdio":
        raise InvalidArguments(f"it is spoken to by {package.transport.type}, and only stdio can be started from here")
    start = _STARTS.get(package.registry_type)
    if start is None:
        raise InvalidArguments(f"packages of the kind {package.registry_type!r} cannot be started from here")
    runtimes = _RUNTIMES[package.registry_type]
    if package.runtime_hint and package.runtime_hint not in runtimes:
        draft.notes.append(f"it wishes to be started by {package.runtime_hint}, and is started by {runtimes[0]}")
    runtime = package.runtime_hint if package.runtime_hint in runtimes else runtimes[0]
    env = _variables(draft, package.environment_variables)
    own = _words(draft, package.runtime_arguments, prefix)
    if own:
        draft.notes.append(f"it asks {runtime} for: {' '.join(own)}")
    words = start(package, own, list(env))
    draft.entry = {"command": runtime, "args": [*words, *_words(draft, package.package_arguments, prefix)]}
    if env:
        draft.entry["env"] = env


def _npm(package: Package, own: Sequence[str], env: Sequence[str]) -> list[str]:
    return [*_without(own, "-y", "--yes"), "-y", _pinned(package, _NPM, "@")]


def _pypi(package: Package, own: Sequence[str], env: Sequence[str]) -> list[str]:
    return [*own, _pinned(package, _PYPI, "@")]


def _nuget(package: Package, own: Sequence[str], env: Sequence[str]) -> list[str]:
    return [*_without(own, "--yes"), _pinned(package, _PYPI, "@"), "--yes"]


def _oci(package: Package, own: Sequence[str], env: Sequence[str]) -> list[str]:
    named = [word for name in env for word in ("-e", name)]
    return ["run", "-i", "--rm", *_without(own, "run", "-i", "--rm"), *named, _pinned_image(package)]


_STARTS: Final[Mapping[str, Callable[[Package, Sequence[str], Sequence[str]], list[str]]]] = {
    "npm": _npm,
    "pypi": _pypi,
    "nuget": _nuget,
    "oci": _oci,
}


def _pinned(package: Package, shape: re.Pattern[str], separator: str) -> str:
    if not shape.fullmatch(package.identifier):
        raise InvalidArguments("its name cannot be one")
    if not _VERSION.fullmatch(package.version):
        raise InvalidArguments(
            f"its version is {package.version!r}; only a fixed one is taken, so that what runs is what was looked at"
        )
    return f"{package.identifier}{separator}{package.version}"


def _pinned_image(package: Package) -> str:
    image = package.identifier
    last = image.rpartition("/")[2]
    if "@" not in image and ":" not in last and package.version:
        image = f"{image}:{package.version}"
        last = image.rpartition("/")[2]
    if not _IMAGE.fullmatch(image):
        raise InvalidArguments("its name cannot be one")
    tag = last.partition(":")[2]
    if "@sha256:" not in image and (not tag or tag in _MOVING):
        raise InvalidArguments("it has no fixed tag or digest")
    return image


def _take_remote(draft: Draft, remote: Remote, prefix: str) -> None:
    if remote.type not in ("streamable-http", "http", "sse"):
        raise InvalidArguments(f"addresses of the kind {remote.type!r} cannot be reached")
    url = draft.fill("url", KeyValue(name="url", value=remote.url, variables=remote.variables), prefix)
    if url is None or not url.startswith(("https://", "http://")):
        raise InvalidArguments("it is no HTTP address")
    draft.entry = {"url": url}
    headers = {header.name: filled for header in remote.headers if (filled := _header(draft, header, prefix))}
    if headers:
        draft.entry["headers"] = headers
    if remote.type == "sse":
        draft.entry["transport"] = "sse"


def _header(draft: Draft, header: KeyValue, prefix: str) -> str | None:
    return draft.fill(header.name, header, prefix)


def _variables(draft: Draft, variables: Sequence[KeyValue]) -> dict[str, str]:
    found: dict[str, str] = {}
    for variable in variables:
        # The name is the program's own, and the user's shell knows it by the same.
        filled = draft.fill(variable.name, variable, "")
        if filled is not None:
            found[variable.name] = filled
        else:
            draft.notes.append(f"it also understands the variable {variable.name}: {variable.description}".rstrip(": "))
    return found


def _words(draft: Draft, arguments: Sequence[Argument], prefix: str) -> list[str]:
    words: list[str] = []
    for argument in arguments:
        name = argument.name.lstrip("-") or argument.value_hint or "argument"
        filled = draft.fill(name, argument, prefix)
        if argument.type == "named":
            if filled is None and not argument.is_required:
                continue
            words.append(literal(argument.name))
        if filled is not None:
            words.append(filled)
    for word in words:
        if word.partition("=")[0] in _RISKY:
            draft.notes.append(f"`{word}` gives it more of this machine than its own files: look closely")
    return words


def _without(words: Sequence[str], *unwanted: str) -> list[str]:
    return [word for word in words if word not in unwanted]
