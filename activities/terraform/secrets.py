"""Gathers the secrets of a component from templates, plans, outputs and the state.

Templates show which secrets were passed in. Secrets that an apply creates (such as a password) are
found by Terraform's marks: in its plan, in the outputs, and in the state, even that of a failed
apply. A value that Terraform marks in one place is masked everywhere, even where it is not marked.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from activities.secrets.kubernetes import of_kubernetes
from activities.secrets.masking import Mask
from activities.terraform.marks import marked, part_at
from activities.terraform.plan_json import TerraformChanges
from activities.terraform.state_file import State, StateFile, instances
from activities.terraform.typed_values import plain
from store.install_records import Output


class KnownSecrets:
    """The secrets of one component that are known so far."""

    def __init__(self, rendered: Mask, state: StateFile) -> None:
        """Begin with the secrets in rendered templates; the state is read for each mask."""
        self._mask = rendered
        self._state = state
        self._marks: dict[str, list[object]] = {}
        """The marks of plans, by address, since the state omits marks of a provider's schema."""

    def learn_plan(self, changes: TerraformChanges) -> None:
        """Add the values that a plan marks."""
        for address, marks in changes.marks.items():
            self._marks.setdefault(address, []).extend(marks)
        self._mask = self._mask.and_also(changes.secrets)

    def learn_outputs(self, outputs: Mapping[str, Output]) -> None:
        """Add the outputs that are sensitive."""
        self._mask = self._mask.and_also(one.value for one in outputs.values() if one.sensitive)

    def mask(self) -> Mask:
        """A mask for all known secrets, including those in the current state; blocks."""
        return self.mask_with(self._state.read())

    def mask_with(self, state: State | None) -> Mask:
        """A mask for all known secrets, including those in the given state."""
        return self._mask.and_also(self._of_state(state)) if state else self._mask

    def _of_state(self, state: Mapping[str, Any]) -> Iterable[object]:
        for output in (state.get("outputs") or {}).values():
            if output.get("sensitive"):
                yield output.get("value")
        for address, instance in instances(state):
            attributes = instance.get("attributes") or {}
            for path in instance.get("sensitive_attributes") or []:
                yield plain(part_at(attributes, path))
            for marks in self._marks.get(address, []):
                yield from marked(attributes, marks)
            yield from of_kubernetes(attributes, plain)
