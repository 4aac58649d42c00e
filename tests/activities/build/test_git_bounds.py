"""Git is bounded in time and size, and a git that outlives its worker is waited for."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from activities.build.git import Git, TooLarge
from activities.build.git_failures import Meaning, meaning
from activities.build.mirrors import Mirrors, SourceRefused
from contracts.errors import Unreachable
from tests.git_repositories import Repositories

URL = "https://github.com/vendor/modules.git"
ROOT = Path(__file__).parents[3]


def fake_git(folder: Path, script: str) -> dict[str, str]:
    """An environment in which git is a script."""
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "git").chmod(0o700)
    return os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}


async def test_what_takes_too_long_is_ended(tmp_path: Path) -> None:
    environment = fake_git(tmp_path / "bin", f"echo $$ > {tmp_path}/pid; sleep 600 & wait")
    git = Git(timeout_seconds=0.3, environment=environment)
    with pytest.raises(Unreachable, match="git fetch took longer than"):
        await git.run("fetch", folder=tmp_path)
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()
    assert not list(tmp_path.glob(".said-*"))


async def test_what_grows_too_large_is_ended(tmp_path: Path) -> None:
    environment = fake_git(tmp_path / "bin", "head -c 3000000 /dev/zero > large; sleep 600")
    with pytest.raises(TooLarge, match="more than 1 MiB"):
        await Git(max_bytes=1024 * 1024, environment=environment).run("fetch", folder=tmp_path)


async def test_a_repository_that_is_too_large_is_refused_and_not_kept(
    tmp_path: Path, repositories: Repositories
) -> None:
    commit = repositories.commit("vendor/modules", {"large": os.urandom(2_000_000)})
    mirrors = Mirrors(Git(max_bytes=1024 * 1024), tmp_path / "mirrors")
    async with mirrors.open(URL, print) as mirror:
        with pytest.raises(SourceRefused, match="more than 1 MiB, which is more than a build"):
            await mirror.fetch(commit, "refs/heads/main")
    assert not list((tmp_path / "mirrors").glob("*.git"))


WORKER = """
import asyncio, sys
from pathlib import Path
from activities.build.git import Git
from activities.build.mirrors import Mirrors

async def main() -> None:
    async with Mirrors(Git(), Path(sys.argv[1])).open(sys.argv[2], print) as mirror:
        await mirror.fetch("0" * 40, "refs/heads/main")

asyncio.run(main())
"""


@pytest.mark.process
async def test_after_a_kill_the_git_that_lives_on_is_waited_for(
    tmp_path: Path, repositories: Repositories
) -> None:
    commit = repositories.commit("vendor/modules", {"main.tf": "# yes\n"})
    gate, begun, folder = tmp_path / "gate", tmp_path / "begun", tmp_path / "mirrors"
    os.mkfifo(gate)
    # Begins to fetch, and leaves one of git's own lock files behind when it ends.
    script = (
        f'case "$*" in *init*) exec {shutil.which("git")} "$@";; esac\n'
        f"echo $$ > {begun}.new; mv {begun}.new {begun}; read line < {gate}; touch shallow.lock"
    )
    environment = fake_git(tmp_path / "bin", script)
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, folder, URL],
        env=environment | {"PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
    )
    async with asyncio.timeout(60):
        while not begun.exists():
            assert worker.poll() is None
            await asyncio.sleep(0.01)
    worker.kill()
    worker.wait()

    waited: list[str] = []

    async def bring() -> None:
        async with Mirrors(Git(), folder).open(URL, waited.append) as mirror:
            await mirror.fetch(commit, "refs/heads/main")
            await mirror.export(commit, "", tmp_path / "out")

    bringing = asyncio.create_task(bring())
    async with asyncio.timeout(60):
        while not waited:
            await asyncio.sleep(0.01)
    assert waited == [f"waits for another build that fetches {URL}"]
    assert not bringing.done()
    with gate.open("w") as opened:
        opened.write("go on\n")
    await bringing
    assert (tmp_path / "out/main.tf").read_text() == "# yes\n"


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("fatal: unable to access 'https://x/': Could not resolve host: x", Meaning.PASSING),
        ("error: RPC failed; curl 92 HTTP/2 stream 5 was not closed cleanly", Meaning.PASSING),
        ("fatal: unable to access 'https://x/': The requested URL returned error: 503",
         Meaning.PASSING),
        ("fatal: could not read Username for 'https://github.com': terminal prompts disabled",
         Meaning.REFUSED),
        ("git@github.com: Permission denied (publickey).\nfatal: Could not read from remote "
         "repository.", Meaning.REFUSED),
        ("remote: Invalid username or token.\nfatal: Authentication failed for 'https://x/'",
         Meaning.REFUSED),
        ("Host key verification failed.\nfatal: Could not read from remote repository.",
         Meaning.REFUSED),
        ("ERROR: Repository not found.\nfatal: Could not read from remote repository.",
         Meaning.MISSING),
        ("fatal: repository 'https://x/y/' not found", Meaning.MISSING),
        ("fatal: remote error: upload-pack: not our ref 00", Meaning.NO_SUCH_COMMIT),
        ("fatal: bad config line 1 in file gitconfig", Meaning.UNKNOWN),
    ],
)  # fmt: skip
def test_what_git_says_means_who_can_mend_it(said: str, means: Meaning) -> None:
    assert meaning(said) is means
