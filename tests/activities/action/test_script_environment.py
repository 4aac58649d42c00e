"""A step's environment: the app's own variables, and those of the worker, which it cannot set."""

from pathlib import Path

import pytest

from contracts.errors import BadConfig
from tests.activities.action.test_action_steps import OUT, Site, step


async def test_its_own_variables_reach_the_script(tmp_path: Path) -> None:
    echo = f"echo tz=$TZ lang=$LANG > {OUT}; echo install=$NUON_INSTALL_ID >> {OUT}"
    result = await Site(tmp_path, step("one", echo, TZ="Asia/Tokyo", LANG="C")).step(0)
    assert result.outputs.values == {"tz": "Asia/Tokyo lang=C", "install": "acme"}


async def test_what_its_step_says_comes_before_what_is_built_in(tmp_path: Path) -> None:
    echo = f"echo install=$NUON_INSTALL_ID > {OUT}; echo home=$HOME >> {OUT}"
    result = await Site(tmp_path, step("one", echo, NUON_INSTALL_ID="mine", HOME="/")).step(0)
    assert result.outputs.values == {"install": "mine", "home": "/"}


@pytest.mark.parametrize("name", ["LD_PRELOAD", "NUON_ACTIONS_OUTPUT_FILEPATH"])
async def test_the_workers_are_refused(tmp_path: Path, name: str) -> None:
    mark = tmp_path / "mark"
    site = Site(tmp_path, step("one", f": > {mark}", **{name: "/x"}))
    with pytest.raises(BadConfig, match=f"scan, step 'one': env_vars.{name} is set by the worker"):
        await site.step(0)
    assert not mark.exists()


async def test_a_proxy_is_passed_on_and_its_password_is_masked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://exclave:pass-word-of-it@proxy:3128")
    echo = f"echo proxy=$https_proxy > {OUT}"
    result = await Site(tmp_path, step("one", echo)).step(0)
    told = str(result.outputs)
    assert "pass-word-of-it" not in told
    assert "proxy" in told
