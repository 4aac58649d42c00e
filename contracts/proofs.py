"""What a command asks before it sends anything: whether the control plane and it have one key."""

from datetime import timedelta

from contracts.activities import FEW, Activity
from contracts.messages import Message, WorkerInput


class ProveKeys(WorkerInput):
    """The input of `control.keys`: nothing that says anything, encrypted where all else is."""

    nonce: str


class KeysProven(Message):
    """The control worker could read the question."""

    nonce: str
    """The question's, so that the answer is to this one."""
    encrypted: bool
    """The control worker has keys, and encrypts what it says."""


PROVE_KEYS = Activity(
    "control.keys",
    ProveKeys,
    KeysProven,
    timedelta(seconds=10),
    retry=FEW,
    # As long as a person waits for any other answer of a control worker.
    schedule_to_start=timedelta(seconds=10),
)
