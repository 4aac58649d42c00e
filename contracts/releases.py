"""What the control plane reads from a release: its graph and declared inputs, no content."""

from datetime import timedelta

from pydantic import Field

from contracts.activities import FEW, Activity
from contracts.messages import Message
from contracts.names import ComponentName, Digest, Name

GRAPH_LIMIT_BYTES = 256 * 1024
"""The largest graph that may enter a workflow's history."""


class ReadRelease(Message):
    """The input of `release.read`."""

    app: Name
    release: Digest


class ReleaseComponent(Message):
    """A node of the release's graph."""

    name: ComponentName
    type: str
    dependencies: list[ComponentName] = Field(default_factory=list)


class DeclaredInput(Message):
    """An input that the app declares."""

    name: str
    type: str = "string"
    required: bool = False
    has_default: bool = False
    sensitive: bool = False


class ReleaseGraph(Message):
    """A release without its content."""

    app: Name
    release: Digest
    components: list[ReleaseComponent]
    inputs: list[DeclaredInput] = Field(default_factory=list)
    actions: list[ComponentName] = Field(default_factory=list)
    sandbox: bool = False
    """Whether it has a sandbox, which `Provision` deploys."""
    requires: list[str] = Field(default_factory=list)
    """The features without which a worker cannot read the release."""


READ = Activity(
    "release.read", ReadRelease, ReleaseGraph, timedelta(seconds=30), retry=FEW, heartbeat=None
)
"""Runs on the control worker, while somebody waits for the answer."""
