"""What this room is told of the engines that there are; `contracts.engines` derives it."""

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
    """By component type: the variables of its engine's tool."""
    sandboxes: Set[str]
    """Those of the types whose engine makes a sandbox, too."""

    def has(self, model: Model) -> bool:
        """Whether the model is a part that can be deployed."""
        if isinstance(model, SandboxFields):
            return model.part_type in self.sandboxes
        return isinstance(model, ComponentFields) and model.type in self.variables

    def variables_of(self, part: Part) -> ToolVariables:
        """The variables of the tool that deploys the part."""
        return self.variables.get(part.part_type, ToolVariables())
