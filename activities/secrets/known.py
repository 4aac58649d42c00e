"""Gathers everything that is known to be secret in an operation's output."""

from collections.abc import Sequence

from activities.engines import Engine, of_activity
from activities.secrets.kept import kept_secrets
from activities.secrets.masking import Mask
from activities.tools.environment import secrets_passed_on
from activities.workplace import Workplace
from store.journal import Journal


def mask_of_operation(workplace: Workplace, key: str) -> Mask:
    """A mask for everything that is known to be secret in the operation's output; blocks.

    That is: the secrets known when its tools ran, sensitive inputs of any release, secrets that the
    worker passes to tools, and what the operation's engine finds in plans and states of the part.
    """
    run, part = key.split("/")[:2]
    known = [
        *kept_secrets(workplace.data / "runs" / key),
        *workplace.state.secrets_of_any_release(),
        *secrets_passed_on(),
    ]
    for engine in workplace.engines:
        known += engine.worker_secrets(workplace.store)
    mask = Mask.of(known)
    for engine in _engines(workplace, key):
        mask = engine.learn_secrets(workplace.store, run, part, mask)
    return mask


def _engines(workplace: Workplace, key: str) -> Sequence[Engine]:
    """The engine whose work the key is bound to; none if it is a step of an action."""
    entry = Journal(workplace.store).entry(key)
    if entry is None or entry.bound_to is None:
        # An older worker did not record it, so ask all of them.
        return workplace.engines
    return of_activity(workplace.engines, entry.bound_to.get("activity"))
