"""Lets a command check, before it sends anything, that the control plane has the same keys."""

from datetime import timedelta

from contracts.activities import FEW, Activity
from contracts.messages import Message, WorkerInput


class ProveKeys(WorkerInput):
    """The input of `control.keys`: random, and encrypted if payloads are."""

    nonce: str


class KeysProven(Message):
    """The control worker could read the question."""

    nonce: str
    """The question's nonce, which ties the answer to it."""
    encrypted: bool
    """Whether the control worker has keys and encrypts its payloads."""


PROVE_KEYS = Activity(
    "control.keys",
    ProveKeys,
    KeysProven,
    timedelta(seconds=10),
    retry=FEW,
    # A person waits as long for any other answer of a control worker.
    schedule_to_start=timedelta(seconds=10),
)
