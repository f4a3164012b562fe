"""A brain's folder with a real journal and a real git beside it, for the suites about git."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from limen.brain.documents.vault import Vault, open_vault
from limen.brain.git.committer import Committer, Step
from limen.brain.records import BrainId, Change, ChangeSet, Commit, Delete, Rename, Write


class GitBrain:
    """One brain, its vault, and git as its user has it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.vault: Vault = open_vault(root, BrainId("brn_test"))
        self.committer = Committer(self.vault, root)

    def write(self, path: str, content: str, *, reason: str = "write", author: str = "", message: str = "") -> Commit:
        return self.change(Write(path, content.encode()), reason=reason, author=author, message=message)

    def delete(self, path: str) -> Commit:
        return self.change(Delete(path), reason="delete")

    def rename(self, path: str, to: str) -> Commit:
        return self.change(Rename(path, to), reason="rename")

    def change(self, *changes: Change, reason: str, author: str = "", message: str = "") -> Commit:
        return self.vault.commit(
            ChangeSet(changes=changes, actor="tester", reason=reason, author=author, message=message)
        )

    def follow(self, *, fold: int = 1) -> Step:
        return self.committer.step(fold=fold)

    def restart_git(self) -> None:
        """As a new process sees it."""
        self.committer = Committer(self.vault, self.root)

    def git(self, *arguments: str) -> str:
        """Run git in the brain; fails when git does."""
        done = self._run(arguments)
        assert done.returncode == 0, f"git {arguments}: {done.stderr}{done.stdout}"
        return done.stdout

    def tries_git(self, *arguments: str) -> bool:
        """Run git in the brain; tells whether it worked."""
        return self._run(arguments).returncode == 0

    def _run(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        env = git_environment(self.root)
        return subprocess.run(["git", *arguments], cwd=self.root, env=env, capture_output=True, text=True, check=False)

    def show(self, revision: str) -> str:
        return self.git("show", revision)

    def log(self, revision: str = "HEAD") -> list[str]:
        """Subjects, newest first."""
        return self.git("log", "--format=%s", revision).splitlines()

    def must_be_sound(self) -> None:
        """Nothing is broken, nothing is different from the files, no lock is left."""
        assert self.git("fsck", "--strict", "--no-dangling") == ""
        assert self.git("status", "--porcelain") == ""
        assert not list((self.root / ".git").rglob("*.lock"))


def git_environment(home: Path) -> dict[str, str]:
    """Git without the developer's own settings."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home / ".limen"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_EDITOR": "true",
        "GIT_AUTHOR_NAME": "Una",
        "GIT_AUTHOR_EMAIL": "una@example.com",
        "GIT_COMMITTER_NAME": "Una",
        "GIT_COMMITTER_EMAIL": "una@example.com",
    }
