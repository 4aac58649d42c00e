"""What the app config needs to know about the existing engines; `contracts.engines` derives it."""

from collections.abc import Mapping, Set
from dataclasses import dataclass

from apps.config.base import Model
from apps.config.components import ComponentFields
from apps.config.parts import Part
from apps.config.terraform import SandboxFields
from apps.environment import ToolVariables


@dataclass(frozen=True)
class Deployable:
    """The parts that some engine deploys, by their types."""

    variables: Mapping[str, ToolVariables]
    """The variables of the engine's tool, by component type."""
    sandboxes: Set[str]
    """The types whose engine can also make a sandbox."""

    def has(self, model: Model) -> bool:
        """Whether the model is a part that can be deployed."""
        if isinstance(model, SandboxFields):
            return model.part_type in self.sandboxes
        return isinstance(model, ComponentFields) and model.type in self.variables

    def variables_of(self, part: Part) -> ToolVariables:
        """The variables of the tool that deploys the part."""
        return self.variables.get(part.part_type, ToolVariables())
