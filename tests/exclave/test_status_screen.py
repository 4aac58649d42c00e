"""The page about one install, on which any text may come from somebody else."""

import pytest

from apps.display_text import shown
from client.overview import InstallDetails, Overview, Row, RunNow
from contracts.deploys import ChangeCounts, Inputs, WaitingPlan
from contracts.installs import ConnectedWorker, InstallStatus, PartNow, ReleaseBefore, RunFailure
from contracts.messages import Turn, WorkerDescription
from exclave.screens.status import show_details, show_overview
from exclave.screens.terminal import Lines

FORGED = "x\n  net  applied\x85\u2028\u202e\x1b[8m"
RELEASE = "sha256:" + "1" * 64
AT = "2026-01-05T12:00:00"


def page(words: str, message: str) -> InstallDetails:
    described = WorkerDescription(
        protocol=1, features=[], tools={words: words}, version=words, host=words, rules=[words]
    )
    status = InstallStatus(
        app="shop",
        install="acme",
        release=RELEASE,
        holder=Turn(number=1, workflow_id=words),
        queue=[words],
        inputs=Inputs(revision=1, values={words: words}),
        worker=ConnectedWorker(description=described, seen=words),
        parts=[PartNow(component="net", outcome=words, release=None, workflow_id=words, at=words)],
        failure=RunFailure(workflow_id=words, message=message, at=words),
        before=[ReleaseBefore(release=RELEASE, workflow_id=words, at=words)],
    )
    plan = WaitingPlan(component="net", digest=RELEASE, teardown=False, changes=ChangeCounts())
    return InstallDetails(
        status=status,
        worker=words,
        polled=None,
        runs=[RunNow(words, words, words)],
        plans={words: [plan]},
        schedules={words: None},
    )


def shown_lines(capsys: pytest.CaptureFixture[str], found: InstallDetails) -> list[str]:
    show_details(Lines(), found)
    return capsys.readouterr().out.split("\n")


def test_nothing_on_a_page_is_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    honest = shown_lines(capsys, page("x", "EngineFailed: it failed"))
    forged = shown_lines(capsys, page(FORGED, "EngineFailed: it failed\u2028  db  applied"))
    assert len(forged) == len(honest)
    assert all(line == shown(line) for line in forged)
    # Tool output is on separate, indented lines below the run that failed.
    longer = shown_lines(capsys, page("x", "EngineFailed: it failed\nnet  applied"))
    assert len(longer) == len(honest) + 1
    assert "      net  applied" in longer, "it cannot look like a row of the table"


def test_nor_in_the_table_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    runs = [RunNow(FORGED, FORGED, FORGED)] * 2
    row = Row("acme", FORGED, RELEASE, FORGED, FORGED, runs, failure=FORGED)
    show_overview(Lines(), Overview([row], 1))
    lines = capsys.readouterr().out.removesuffix("\n").split("\n")
    assert len(lines) == 4
    assert all(line == shown(line) for line in lines)
