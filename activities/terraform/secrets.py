"""The secrets of a component, as they become known: from templates, plans, outputs and the state.

Templates tell what was put in. What an apply makes (a password, say) is known from what Terraform
marks: in its plan, in the outputs, and in the state, also one that a failed apply left. A value
that Terraform marks in one place is masked in every other, where it does not know it.
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
    """Gathers what must not leave the customer's side."""

    def __init__(self, rendered: Mask, state: StateFile) -> None:
        """Begin with the secrets that templates rendered, and what the state marks."""
        self._mask = rendered
        self._state = state
        self._marks: dict[str, list[object]] = {}
        """By address, what plans mark: the state does not repeat what a provider's schema marks."""

    def learn_plan(self, changes: TerraformChanges) -> None:
        """Take what a plan marks."""
        for address, marks in changes.marks.items():
            self._marks.setdefault(address, []).extend(marks)
        self._mask = self._mask.and_also(changes.secrets)

    def learn_outputs(self, outputs: Mapping[str, Output]) -> None:
        """Take the outputs that are sensitive."""
        self._mask = self._mask.and_also(one.value for one in outputs.values() if one.sensitive)

    def mask(self) -> Mask:
        """A mask for all that is known, with what the state marks as it is now; blocks."""
        return self.mask_with(self._state.read())

    def mask_with(self, state: State | None) -> Mask:
        """A mask for all that is known, with what that state marks."""
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
