"""The stack: what a customer applies, so that an install's worker runs there."""

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
    """URL of a store that speaks S3; without it, AWS."""


class RenderStack(Message):
    """The input of `stack.render`."""

    install: Name
    app: Name
    store: StorePlace | None = None


class Stack(Message):
    """A rendered stack; also the answer of Install's query `stack`. No secret is in it."""

    kind: str
    """What it is for, for example `systemd`."""
    files: dict[str, str] = Field(default_factory=dict)
    """Content by path within the stack's folder; a few kB in all."""
    token_file: str = ""
    """Where the one-time token of the worker's enrolment belongs, if it needs one; whoever writes
    the stack has a fresh one made."""


RENDER_STACK = Activity("stack.render", RenderStack, Stack, timedelta(minutes=1))
