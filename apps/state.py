"""The state document: what an install's templates see under `.nuon` (and `.exclave`)."""

from dataclasses import dataclass, field
from typing import Literal

from apps.input_values import InputValue
from apps.sensitivity import Sensitive


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
    """A second name by which templates can reach it."""


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
class StackState:
    """What is known of what the customer applied: the network, the roles, the worker's machine."""

    status: str
    outputs: dict[str, object | Sensitive] = field(default_factory=dict)
    quick_link_url: str = ""
    template_url: str = ""
    checksum: str = ""


@dataclass(frozen=True)
class SecretState:
    """What is known of a secret; its value is in nobody's state."""

    exists: bool
    arn: str = ""
    kubernetes_namespace: str = ""
    kubernetes_name: str = ""
    timestamp: str = ""
    """When it was set."""
    length: int = 0

    def seen(self, name: str) -> dict[str, object]:
        """The secret as templates see it."""
        return {"name": name, "kubernetes_key": "value", **vars(self)}


@dataclass(frozen=True)
class CloudAccount:
    """Where the install is: an account of one cloud, with what is known of it."""

    platform: Literal["aws", "azure", "gcp"]
    fields: dict[str, str] = field(default_factory=dict)
    """Of AWS `region`, of Azure `location`, of Google Cloud `project_id` and `region`."""


@dataclass(frozen=True)
class RunnerState:
    """What is known of the install's worker."""

    id: str
    status: str


@dataclass(frozen=True)
class Domains:
    """The names under which the install is reached."""

    public: str = ""
    internal: str = ""


@dataclass(frozen=True)
class StateDocument:
    """The state of one install, as templates see it; they know the parts' fields by their names."""

    install_id: str
    org: OrgState
    app: AppState
    install_name: str = ""
    """Defaults to the id."""
    inputs: dict[str, InputValue] = field(default_factory=dict)
    components: dict[str, ComponentState] = field(default_factory=dict)
    actions: dict[str, ActionState] = field(default_factory=dict)
    sandbox: SandboxState | None = None
    """None until it is provisioned; so are those below, until they are known."""
    stack: StackState | None = None
    secrets: dict[str, SecretState] | None = None
    cloud_account: CloudAccount | None = None
    runner: RunnerState | None = None
    domains: Domains | None = None

    def template_data(self) -> dict[str, object]:
        """The data that templates are rendered from, with marks of what is sensitive."""
        root = self._root()
        return {"nuon": root, "exclave": root}

    def _root(self) -> dict[str, object]:
        name = self.install_name or self.install_id
        mirrored: dict[str, object] = {
            "org": {**vars(self.org)},
            "app": {**vars(self.app)},
            "components": self._components(),
            "actions": {
                "workflows": {
                    action: {
                        "id": action,
                        "status": state.status,
                        "populated": True,
                        "outputs": state.outputs,
                    }
                    for action, state in self.actions.items()
                }
            },
            **self._known(),
        }
        install = {"id": self.install_id, "name": name, "inputs": dict(self.inputs), **mirrored}
        root = {
            "id": self.install_id,
            "name": name,
            "inputs": {"inputs": dict(self.inputs)},
            **mirrored,
        }
        if self.domains is not None:
            domains = {
                "public_domain": self.domains.public,
                "internal_domain": self.domains.internal,
            }
            install |= domains
            root["domain"] = domains
        root["install"] = install
        return root

    def _known(self) -> dict[str, object]:
        """What is there once it is known; before, it leads to nothing."""
        found: dict[str, object] = {}
        if self.sandbox is not None:
            found["sandbox"] = {**vars(self.sandbox)}
        if self.stack is not None:
            found["install_stack"] = {**vars(self.stack)}
        if self.secrets is not None:
            found["secrets"] = {name: one.seen(name) for name, one in self.secrets.items()}
        if self.cloud_account is not None:
            found["cloud_account"] = {self.cloud_account.platform: self.cloud_account.fields}
        if self.runner is not None:
            found["runner"] = {**vars(self.runner)}
        return found

    def _components(self) -> dict[str, object]:
        found: dict[str, object] = {}
        for name, state in self.components.items():
            component_id = state.component_id or name
            seen = {
                "status": state.status,
                "build_id": state.build_id,
                "component_id": component_id,
                "install_component_id": f"{self.install_id}-{component_id}",
                "outputs": state.outputs,
            }
            if state.var_name:
                found.setdefault(state.var_name, seen)
            found[name] = seen
        return found
