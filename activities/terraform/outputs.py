"""A module's outputs: kept whole in the store, and sent without what is sensitive."""

import json

from activities.masking import Mask
from contracts.deploys import Outputs
from contracts.errors import EngineFailed
from store.install_state import Output


def read_outputs(printed: bytes) -> dict[str, Output]:
    """Read `terraform output -json`.

    Raises:
        EngineFailed: where it is not what Terraform documents.
    """
    try:
        return {
            name: Output(value=one["value"], sensitive=bool(one["sensitive"]))
            for name, one in json.loads(printed).items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineFailed(
            f"`terraform output -json` printed what is not understood ({type(error).__name__})."
        ) from None


def as_sent(outputs: dict[str, Output], mask: Mask) -> Outputs:
    """What of the outputs may leave the customer's side."""
    return Outputs(
        values={name: mask.value(one.value) for name, one in outputs.items() if not one.sensitive},
        sensitive=sorted(name for name, one in outputs.items() if one.sensitive),
    )
