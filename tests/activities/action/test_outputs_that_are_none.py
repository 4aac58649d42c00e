"""If the outputs file is not a regular file, the step fails for good and says why."""

from pathlib import Path

import pytest

from contracts.errors import EngineFailed
from tests.activities.action.test_action_steps import OUT, Site, step

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("makes", "why"),
    [
        (f"rm {OUT}; mkdir {OUT}", "is a folder, not a file"),
        (f"rm {OUT}; mkfifo {OUT}", "is a pipe, not a file"),
        (f"ln -sf /etc/hostname {OUT}", "is a link, not a file"),
        (f"rm {OUT}; mknod {OUT} c 1 5 || mkfifo {OUT}", "is a (device|pipe), not a file"),
        (f"truncate -s 2G {OUT}", "has 2147483648 bytes; at most 1048576 are allowed"),
    ],
)
async def test_it_fails_once_and_for_good(tmp_path: Path, makes: str, why: str) -> None:
    site = Site(tmp_path, step("only", makes))
    for _ in ("the attempt", "another one"):
        with pytest.raises(EngineFailed, match=f"scan, step 'only': the outputs file {why}") as it:
            await site.step(0)
        assert it.value.non_retryable
    published = site.published()
    assert published is not None and published.status == "failed"


async def test_one_that_was_removed_holds_nothing(tmp_path: Path) -> None:
    site = Site(tmp_path, step("only", f"echo a=1 >> {OUT}; rm {OUT}"))
    assert (await site.step(0)).outputs.values == {}


async def test_a_log_or_exit_that_is_none_holds_nobody_up(tmp_path: Path) -> None:
    folder = "$(dirname $0)"
    swap = f"rm {folder}/output.log; mkfifo {folder}/output.log"
    site = Site(tmp_path, step("only", f"{swap}; exit 3"))
    with pytest.raises(EngineFailed, match=r"failed with exit status 3\.$"):
        await site.step(0)
    assert await site.log(0) == "-- step (run 1)\n"
