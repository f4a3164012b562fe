"""The tree names no machine: no one's folders, no package index, no registry."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.environment import ROOT

# Written with classes of one character, so that this file does not find itself.
FOREIGN = re.compile(
    r"""(?<![\w.~-])/(?:work|farm|root|Users)/
      | (?<![\w.~-])/home/(?!user\b|you\b)\w+/
      | /tmp/[l]ab
      | /opt/[p]ypi
      | index[-]url
      | trusted[-]host
      | registry[=]
      | [p]ypi\.org
      | [p]ythonhosted\.org
      | registry\.[n]pmjs
      | npm[m]irror
    """,
    re.VERBOSE,
)


def tracked(git: Path) -> list[Path]:
    """Every file that is, or is about to be, in the repository."""
    listing = subprocess.run(
        [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    return [path for name in listing.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]


def test_no_file_names_a_machine_or_a_package_index(needs: Callable[[str], Path]) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in tracked(needs("git"))
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1)
        if FOREIGN.search(line)
    ]
    assert not found
