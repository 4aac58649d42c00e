"""A plan's changes, in the same form for every engine, and the digest that an approval names."""

import hashlib
import hmac
import json
from dataclasses import dataclass, field

from contracts.deploys import ChangeCounts

QUIET = ({"no-op"}, {"read"})
"""Actions that change nothing; a data source is read again in any case."""


@dataclass(frozen=True)
class Change:
    """One object, and what would happen to it."""

    address: str
    actions: tuple[str, ...]
    before: object
    after: object
    unknown: object
    """True, or a structure of the shape of `after`, for values known only after the apply."""
    before_sensitive: object = False
    after_sensitive: object = False
    deposed: str | None = None
    previous_address: str | None = None
    """Set if the object moves: its address before."""
    importing: str | None = None
    """The object is imported under this id."""
    reason: str | None = None
    """For example `replace_because_tainted`."""

    @property
    def verb(self) -> str:
        """create, update, replace, delete, forget, import, or move (if nothing else changes)."""
        actions = set(self.actions)
        if {"create", "delete"} <= actions:
            return "replace"
        if actions in QUIET:
            return "import" if self.importing else "move"
        return self.actions[0]


@dataclass(frozen=True)
class Changes:
    """All changes of a plan: objects, ordered by address, and outputs."""

    objects: tuple[Change, ...]
    outputs: tuple[Change, ...]
    secrets: tuple[object, ...] = field(default=(), compare=False, repr=False)
    """All values that the plan marks as sensitive, also in objects that do not change."""

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
        """What an approval names: an HMAC over everything that would be done.

        Keyed, with a key that stays in the store, since a plain hash of a short secret could be
        guessed.

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
