"""What is known to be secret of an operation, from wherever it can be known."""

from collections.abc import Sequence

from activities.engines import Engine, of_activity
from activities.secrets.kept import kept_secrets
from activities.secrets.masking import Mask
from activities.tools.environment import secrets_passed_on
from activities.workplace import Workplace
from store.journal import Journal


def mask_of_operation(workplace: Workplace, key: str) -> Mask:
    """A mask for everything that is known to be secret of what the operation worked on; blocks.

    That is what was secret when its tools ran, the inputs of any release, what the worker hands to
    tools, and what the operation's engine knows of the part, from plans and states.
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
    """Whose work was let in under the key: nobody's, if it is a step of an action."""
    entry = Journal(workplace.store).entry(key)
    if entry is None or entry.bound_to is None:
        # An older worker did not note it.
        return workplace.engines
    return of_activity(workplace.engines, entry.bound_to.get("activity"))
