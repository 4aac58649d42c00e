"""A tool is asked for its own version."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from activities.tools.tool import Answer, Question, Tool, ask
from contracts.errors import EngineFailed, Unreachable


def read(printed: bytes) -> Answer:
    version, platform = printed.decode().split()
    return Answer(version, platform)


QUESTION = Question(("version",), {}, read, is_it="a tool")
ANSWER = "echo 1.11.4 linux"


def script(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o700)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    return folder


def test_two_tools_are_each_asked_once(path: Path) -> None:
    for name in ("one", "two"):
        script(path, name, f"echo >> {path}/asked; {ANSWER}")
    for name in ("one", "two", "one", "two"):
        assert ask(path / name, QUESTION) == Answer("1.11.4", "linux")
    assert (path / "asked").read_text() == "\n\n"


@pytest.mark.parametrize(
    ("version", "numbers"),
    [("v1.11.4", (1, 11, 4)), ("1.12.0-rc1", (1, 12, 0)), ("3+dev", (3, 0, 0))],
)
def test_the_numbers_of_a_version(version: str, numbers: tuple[int, int, int]) -> None:
    tool = Tool(Path("/bin/tool"), "tool", version, "linux_amd64")
    assert tool.numbers == numbers
    assert tool.identity == f"tool {version} linux_amd64"


def test_the_same_file_is_asked_once_by_all_who_begin_together(path: Path) -> None:
    asked = path / "asked"
    script(path, "tool", f"echo >> {asked}; {ANSWER}")
    with ThreadPoolExecutor(4) as threads:
        found = set(threads.map(lambda _: ask(path / "tool", QUESTION).version, range(8)))
    assert found == {"1.11.4"}
    assert asked.read_text() == "\n"

    script(path, "tool", f"echo >> {asked}; echo 1.12.0 linux")
    assert ask(path / "tool", QUESTION).version == "1.12.0"


def test_it_is_asked_again_in_time_since_it_may_be_a_wrapper(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(path, "tool", f"read version < {path}/chosen; echo $version linux")
    (path / "chosen").write_text("1.11.4\n")
    assert ask(path / "tool", QUESTION).version == "1.11.4"
    (path / "chosen").write_text("1.12.0\n")
    assert ask(path / "tool", QUESTION).version == "1.11.4"
    monkeypatch.setattr("activities.tools.tool._BELIEVED_SECONDS", 0.0)
    assert ask(path / "tool", QUESTION).version == "1.12.0"


@pytest.mark.parametrize("body", ["exit 1", "echo no", "echo 1.11.4 linux; exit 1"])
def test_one_that_tells_no_version_is_named(path: Path, body: str) -> None:
    script(path, "tool", body)
    with pytest.raises(EngineFailed, match="does not report a version"):
        ask(path / "tool", QUESTION)


@pytest.mark.parametrize(
    ("body", "says"),
    [("kill -9 $$", "ended by signal 9"), ("exec sleep 30", "did not answer within 0.2 s")],
)
def test_what_the_machine_cannot_do_now_is_tried_again(
    path: Path, body: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("activities.tools.tool._ASK_SECONDS", 0.2)
    script(path, "tool", f"PATH=/usr/bin:/bin; {body}")
    with pytest.raises(Unreachable, match=says) as caught:
        ask(path / "tool", QUESTION)
    assert not caught.value.non_retryable


def test_one_that_cannot_be_started_is_tried_again(path: Path) -> None:
    (path / "tool").write_text("#!/no/such/interpreter\n")
    (path / "tool").chmod(0o700)
    with pytest.raises(Unreachable, match="No such file"):
        ask(path / "tool", QUESTION)
