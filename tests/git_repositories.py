"""Repositories on the disk that git takes for those of GitHub: by `insteadOf`, in a git config."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest


class Repositories:
    """Bare repositories below a folder, and the git config that puts them in GitHub's place."""

    def __init__(
        self, folder: Path, config: Path | None = None, instead_of: str = "https://github.com/"
    ) -> None:
        self.folder = folder
        self.served = folder / "served"
        self.served.mkdir(parents=True)
        self.config = config or folder / "gitconfig"
        self.configure(f"url.{self.served}/.insteadOf", instead_of)

    @property
    def environment(self) -> dict[str, str]:
        """What git needs to know of it."""
        return {"GIT_CONFIG_GLOBAL": str(self.config), "GIT_CONFIG_NOSYSTEM": "1"}

    def use(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let every git of this process see the repositories."""
        for name, value in self.environment.items():
            monkeypatch.setenv(name, value)

    def configure(self, key: str, value: str) -> None:
        git("config", "--file", str(self.config), key, value, folder=self.folder)

    def commit(
        self,
        name: str,
        files: Mapping[str, str | bytes | Path],
        *,
        branch: str = "main",
        tag: str = "",
    ) -> str:
        """Commit files onto a branch, and return the commit's id.

        A path stands for a link, and what begins with `#!` is executable.
        """
        bare, work = self.served / f"{name}.git", self.folder / "work" / name / branch
        if not bare.exists():
            git("init", "--quiet", "--bare", "-b", branch, str(bare), folder=self.folder)
        if not work.exists():
            git("init", "--quiet", "-b", branch, str(work), folder=self.folder)
        for path, content in files.items():
            target = work / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Path):
                target.symlink_to(content)
            else:
                data = content.encode() if isinstance(content, str) else content
                target.write_bytes(data)
                target.chmod(0o755 if data.startswith(b"#!") else 0o644)
        git("add", "--all", folder=work)
        git("commit", "--quiet", "--allow-empty", "-m", "more", folder=work)
        if tag:
            git("tag", "--annotate", "-m", tag, tag, folder=work)
        git("push", "--quiet", "--force", "--tags", str(bare), branch, folder=work)
        return git("rev-parse", "HEAD", folder=work).strip()


def git(*arguments: str, folder: Path) -> str:
    """Run git without anybody's config."""
    who = {f"GIT_{role}_{what}": f"test{at}" for role in ("AUTHOR", "COMMITTER")
           for what, at in (("NAME", ""), ("EMAIL", "@example.com"))}  # fmt: skip
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"git {arguments}: {done.stderr}"
    return done.stdout
