"""The state document: what an install's templates see under `.nuon` (and `.exclave`)."""

from dataclasses import dataclass, field

from apps.input_values import InputErrors, InputValue, effective_inputs
from apps.sensitivity import Sensitive

__all__ = [
    "ActionState",
    "AppState",
    "ComponentState",
    "InputErrors",
    "OrgState",
    "SandboxState",
    "StateDocument",
    "effective_inputs",
]


@dataclass(frozen=True)
class OrgState:
    """The org that the install belongs to."""

    id: str
    name: str
    status: str = "active"


@dataclass(frozen=True)
class AppState:
    """The app that is installed."""

    id: str
    name: str
    status: str = "active"
    variables: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class ComponentState:
    """What is known of a component's last deploy."""

    status: str
    outputs: dict[str, object | Sensitive] = field(default_factory=dict)
    build_id: str = ""
    """The digest of the artifact that was deployed."""
    component_id: str = ""
    """Defaults to the component's name."""
    var_name: str | None = None
    """A second name that templates reach it by."""


@dataclass(frozen=True)
class SandboxState:
    """What is known of the sandbox's last provision."""

    status: str
    outputs: dict[str, object | Sensitive] = field(default_factory=dict)
    version: str = ""
    """The digest of the artifact that was applied."""
    type: str = "terraform"


@dataclass(frozen=True)
class ActionState:
    """What is known of an action's last run."""

    status: str
    outputs: dict[str, object | Sensitive] = field(default_factory=dict)
    """Those of all steps, merged; `steps` holds them by step."""


@dataclass(frozen=True)
class StateDocument:
    """The state of one install, as templates see it."""

    install_id: str
    org: OrgState
    app: AppState
    install_name: str = ""
    """Defaults to the id."""
    inputs: dict[str, InputValue] = field(default_factory=dict)
    components: dict[str, ComponentState] = field(default_factory=dict)
    actions: dict[str, ActionState] = field(default_factory=dict)
    sandbox: SandboxState | None = None
    """None until it is provisioned."""

    def template_data(self) -> dict[str, object]:
        """The data that templates are rendered from, with marks of what is sensitive."""
        name = self.install_name or self.install_id
        sandbox = self._sandbox()
        root: dict[str, object] = {
            "id": self.install_id,
            "name": name,
            "org": {"id": self.org.id, "name": self.org.name, "status": self.org.status},
            "app": {
                "id": self.app.id,
                "name": self.app.name,
                "status": self.app.status,
                "variables": self.app.variables,
            },
            "install": {"id": self.install_id, "name": name, "inputs": dict(self.inputs)} | sandbox,
            "inputs": {"inputs": dict(self.inputs)},
            "components": self._components(),
            "actions": {
                "workflows": {
                    action: {"id": action, "status": state.status, "outputs": state.outputs}
                    for action, state in self.actions.items()
                }
            },
        } | sandbox
        return {"nuon": root, "exclave": root}

    def _sandbox(self) -> dict[str, object]:
        if self.sandbox is None:
            return {}
        one = self.sandbox
        return {
            "sandbox": {
                "status": one.status,
                "type": one.type,
                "version": one.version,
                "outputs": one.outputs,
            }
        }

    def _components(self) -> dict[str, object]:
        found: dict[str, object] = {}
        for name, state in self.components.items():
            seen = {
                "status": state.status,
                "build_id": state.build_id,
                "component_id": state.component_id or name,
                "outputs": state.outputs,
            }
            if state.var_name:
                found.setdefault(state.var_name, seen)
            found[name] = seen
        return found
