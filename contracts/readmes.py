"""The readme of an install: the app's page, rendered on the worker, which has the values."""

from datetime import timedelta

from pydantic import Field

from contracts.activities import Activity
from contracts.messages import Message, WorkerInput
from contracts.names import Digest, Name

FEATURE_README = "readme/1"

README_LIMIT_BYTES = 256 * 1024
"""The most that is sent of a readme."""


class ReadReadme(WorkerInput):
    """The input of `install.readme`."""

    install: Name


class Readme(Message):
    """The page, with sensitive values masked."""

    app: Name
    release: Digest
    """The release that contains it: the one deployed last, or else provisioned last."""
    text: str
    problems: list[str] = Field(default_factory=list)
    """Why some templates in it could not be rendered."""
    is_cut: bool = False
    """Whether `text` is only the beginning of a longer page."""


READ_README = Activity(
    "install.readme",
    ReadReadme,
    Readme,
    timedelta(seconds=60),
    # A person waits: say that the worker is away instead of waiting with them.
    schedule_to_start=timedelta(seconds=5),
)
"""Started as a standalone activity, without a workflow."""
