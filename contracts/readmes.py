"""The readme of an install: the app's page, rendered where the install's values are."""

from datetime import timedelta

from pydantic import Field

from contracts.activities import Activity
from contracts.messages import Message, WorkerInput
from contracts.names import Digest, Name

FEATURE_README = "readme/1"

README_LIMIT_BYTES = 256 * 1024
"""The most that is sent of one."""


class ReadReadme(WorkerInput):
    """The input of `install.readme`."""

    install: Name


class Readme(Message):
    """The page, without what is sensitive."""

    app: Name
    release: Digest
    """The release whose readme it is: the one deployed last, or else provisioned last."""
    text: str
    problems: list[str] = Field(default_factory=list)
    """Why parts of it stay as they are written."""
    is_cut: bool = False
    """It is longer than what is sent."""


READ_README = Activity(
    "install.readme",
    ReadReadme,
    Readme,
    timedelta(seconds=60),
    # A person waits: say that the worker is away instead of waiting with them.
    schedule_to_start=timedelta(seconds=5),
)
"""Started by itself, without a workflow."""
