"""What the models of all parts have in common, whichever engine deploys them.

What an engine is stands in `contracts.engines`, above this room; here is only what follows from a
part's own model.
"""

from typing import ClassVar

from apps.config.base import Model
from apps.config.sources import Source


class Part(Model):
    """What an engine deploys: a component, or the sandbox.

    It has no fields: their order is part of the fingerprint of what is deployed.
    """

    reaches_out: ClassVar[bool] = False
    """Whether what it is made of may name files outside its source's folder, by `../`."""

    @property
    def part_type(self) -> str:
        """The component type whose engine deploys it, also of a sandbox."""
        raise NotImplementedError


def source_of(model: Model) -> Source | None:
    """Where the files of a part, or of an action's step, come from; None if it has none."""
    found = getattr(model, "public_repo", None) or getattr(model, "connected_repo", None)
    return found if isinstance(found, Source) else None


def variables_of(part: Model) -> dict[str, str]:
    """The environment variables that the app config sets for a part's tool."""
    found: dict[str, str] = getattr(part, "env_vars", {})
    return found
