"""`control.keys`: whether who asks and the control worker hold one key."""

from temporalio import activity
from temporalio.client import Client

from contracts import proofs
from contracts.proofs import KeysProven, ProveKeys


class KeyProofs:
    """Runs on the control worker."""

    def __init__(self, client: Client) -> None:
        """Tell of the client's own keys: the worker's."""
        self._encrypts = client.data_converter.payload_codec is not None

    @activity.defn(name=proofs.PROVE_KEYS.name)
    async def prove(self, input: ProveKeys) -> KeysProven:
        """Say again what was asked: who has another key, or none, can read neither."""
        return KeysProven(nonce=input.nonce, encrypted=self._encrypts)
