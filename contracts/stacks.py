"""The stack: what a customer applies in their account to run an install's worker."""

from datetime import timedelta

from pydantic import Field

from contracts.activities import Activity
from contracts.messages import Command, Message
from contracts.names import Name


class StorePlace(Command):
    """Where the customer wants the install's store, if not on the worker's own disk."""

    url: str
    """`s3://bucket/prefix`."""
    region: str | None = None
    endpoint: str | None = None
    """URL of an S3-compatible store; without it, AWS."""


class RenderStack(Message):
    """The input of `stack.render`."""

    install: Name
    app: Name
    store: StorePlace | None = None


class Stack(Message):
    """A rendered stack; also the answer of Install's query `stack`. It contains no secret."""

    kind: str
    """The kind of machine that it is for, for example `systemd`."""
    files: dict[str, str] = Field(default_factory=dict)
    """Content by path within the stack's folder; a few kB in all."""
    token_file: str = ""
    """The path for the worker's one-time enrolment token, if it needs one; whoever writes the stack
    to disk requests a fresh token."""


RENDER_STACK = Activity("stack.render", RenderStack, Stack, timedelta(minutes=1))
