"""What a plan would do, whichever engine made it, and the digest that an approval binds to."""

import hashlib
import hmac
import json
from dataclasses import dataclass, field

from contracts.deploys import ChangeCounts

QUIET = ({"no-op"}, {"read"})
"""Actions that change nothing: a data source is read again in any case."""


@dataclass(frozen=True)
class Change:
    """One object, and what would happen to it."""

    address: str
    actions: tuple[str, ...]
    before: object
    after: object
    unknown: object
    """True, or the same shape as `after`, where a value will be known after the apply only."""
    before_sensitive: object = False
    after_sensitive: object = False
    deposed: str | None = None
    previous_address: str | None = None
    """The object moves: this is where it was."""
    importing: str | None = None
    """The object is imported under this id."""
    reason: str | None = None
    """For example `replace_because_tainted`."""

    @property
    def verb(self) -> str:
        """create, update, replace, delete, forget, or move where nothing else changes."""
        actions = set(self.actions)
        if {"create", "delete"} <= actions:
            return "replace"
        if actions in QUIET:
            return "import" if self.importing else "move"
        return self.actions[0]


@dataclass(frozen=True)
class Changes:
    """A whole plan: objects by address, and the outputs that change."""

    objects: tuple[Change, ...]
    outputs: tuple[Change, ...]
    secrets: tuple[object, ...] = field(default=(), compare=False, repr=False)
    """What the plan marks as sensitive anywhere, also of objects that do not change."""

    @property
    def empty(self) -> bool:
        """Whether nothing would change."""
        return not self.objects and not self.outputs

    def counts(self) -> ChangeCounts:
        """How many objects are created, updated, replaced and deleted."""
        verbs = [change.verb for change in self.objects]
        return ChangeCounts(
            create=verbs.count("create") + verbs.count("import"),
            update=verbs.count("update") + verbs.count("move"),
            replace=verbs.count("replace"),
            delete=verbs.count("delete") + verbs.count("forget"),
            outputs=len(self.outputs),
        )

    def digest(self, key: bytes, *, install: str, component: str, verb: str) -> str:
        """What an approval binds to: an HMAC over everything that would be done.

        A plain hash of a short secret could be guessed from outside; the key stays in the store.

        Args:
            key: The store's secret key.
            install: The install's name.
            component: The component's name.
            verb: `apply` or `teardown`.
        """
        content = {
            "install": install,
            "component": component,
            "verb": verb,
            "objects": [_signed(change) for change in self.objects],
            "outputs": [_signed(change) for change in self.outputs],
        }
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
        return "sha256:" + hmac.new(key, canonical, hashlib.sha256).hexdigest()


def _signed(change: Change) -> list[object]:
    return [
        change.address,
        change.deposed,
        list(change.actions),
        change.before,
        change.after,
        change.unknown,
        change.previous_address,
        change.importing,
    ]
