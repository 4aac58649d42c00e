"""The state of an install in its store: inputs, sandbox, components, actions, newest release.

There is one object per entity, so that components that deploy in parallel do not conflict. Each
change raises the state's revision. A run passes the newest revision that it has seen to every
activity, and a store that is older (a restored copy, or another store) is refused before anything
is done.
"""

import secrets
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import BaseModel

from apps.input_values import effective_inputs
from apps.parts import SANDBOX
from apps.sensitivity import Sensitive
from apps.state import AppState, OrgState, StateDocument
from contracts.deploys import Inputs
from contracts.errors import StoreBehind
from store.documents import change_document, read_document
from store.errors import Conflict
from store.install_records import (
    ActionRecord,
    ActionRun,
    ComponentRecord,
    DeployedRelease,
    InstallRecord,
    ProvisionedRelease,
)
from store.interface import ABSENT, ANY, Store
from store.recorded_parts import with_parts

if TYPE_CHECKING:
    from apps.config.app import AppConfig

_INPUTS: Final = "inputs/current.json"
_SENSITIVE_INPUTS: Final = "inputs/sensitive.json"
_INSTALL: Final = "install.json"
_SANDBOX: Final = "sandbox.json"
_PROVISIONED: Final = "provisioned.json"
_RELEASE: Final = "release.json"
_REVISION: Final = "revision.json"
_DIGEST_KEY: Final = "keys/plan-digest"

_RUNS_KEPT: Final = 20
"""How many runs of each action are kept, so that a step that is retried after the action's end
still finds its run."""

M = TypeVar("M", bound=BaseModel)


class InstallState:
    """Reads and writes the state of one install; all methods block."""

    def __init__(self, store: Store, install: str, org: str) -> None:
        self._store = store
        self._install = install
        self._org = org

    def require_revision(self, revision: int) -> None:
        """Refuse to work on a store that lacks something that the run has recorded.

        Raises:
            StoreBehind: the store is older than `revision`.
        """
        here = self.revision()
        if here < revision:
            raise StoreBehind(
                f"The store of {self._install} is at revision {here}, but the run has seen "
                f"{revision}. It was restored from an older copy, or is another store. Restore the "
                "newest one, or start the deploy again to continue with this one."
            )

    def revision(self) -> int:
        """How often the state has been changed."""
        found = read_document(self._store, _REVISION)
        return int(found[0]["revision"]) if found else 0

    def update_inputs(self, inputs: Inputs) -> None:
        """Store the newest revision of the inputs.

        Values in the store that are newer than the revision these inputs started from were set
        through a former Install workflow. They stay, unless they were set again or removed since.
        """

        def newest(now: Mapping[str, object] | None) -> dict[str, object] | None:
            stored = Inputs.model_validate(now or {})
            if now is not None and stored.revision >= inputs.revision:
                return None
            former = stored.values if stored.revision > inputs.base else {}
            kept = {name: one for name, one in former.items() if name not in inputs.removed}
            merged = inputs.model_copy(update={"values": {**kept, **inputs.values}})
            return merged.model_dump(mode="json")

        change_document(self._store, _INPUTS, newest)

    def set_sensitive_input(self, name: str, value: str) -> None:
        """Store the value of a sensitive input, which is set only on the customer's side."""
        change_document(self._store, _SENSITIVE_INPUTS, lambda now: {**(now or {}), name: value})
        self._raise_revision()

    def inputs(self, config: "AppConfig", *, checked: bool = True) -> dict[str, str | Sensitive]:
        """The value of every input of the app, including defaults.

        Raises:
            InputErrors: `checked`, and values are missing or invalid.
        """
        found = read_document(self._store, _INPUTS)
        given = Inputs.model_validate(found[0]).values if found else {}
        sensitive = read_document(self._store, _SENSITIVE_INPUTS)
        secret = {name: str(value) for name, value in (sensitive[0] if sensitive else {}).items()}
        return effective_inputs(
            config, _declared(config, given), _declared(config, secret), checked=checked
        )

    def app(self) -> str | None:
        """The app that is installed; None before the first run has recorded it."""
        found = self._read(_INSTALL, InstallRecord)
        deployed = self.deployed() if found is None else None
        return found.app if found else deployed.app if deployed else None

    def put_app(self, app: str) -> None:
        """Record which app is installed; it never changes."""
        self._write(_INSTALL, InstallRecord(app=app))

    def components(self) -> dict[str, ComponentRecord]:
        """What is deployed, by component, without the sandbox."""
        return {one.component: one for one in self._all("components/", ComponentRecord)}

    def component(self, name: str) -> ComponentRecord | None:
        """What is deployed for a component, or for the sandbox."""
        return self._read(_component_key(name), ComponentRecord)

    def put_component(self, record: ComponentRecord) -> int:
        """Record a component, or the sandbox; returns the state's new revision."""
        self._write(_component_key(record.component), record)
        return self._raise_revision()

    def remove_component(self, name: str) -> int:
        """Delete the record of a component, or of the sandbox, after its teardown; returns the
        state's new revision."""
        self._store.delete(_component_key(name))
        return self._raise_revision()

    def put_action(self, record: ActionRecord) -> int:
        """Record an action's run; returns the state's new revision."""
        self._write(f"actions/{record.action}.json", record)
        return self._raise_revision()

    def action(self, name: str) -> ActionRecord | None:
        """The state after the last run of an action."""
        return self._read(f"actions/{name}.json", ActionRecord)

    def put_action_run(self, run: ActionRun) -> int:
        """Record the progress of a run of an action; returns the state's new revision.

        Until it has ended, others still see the action's previous run.
        """
        self._write(_action_run_key(run.action, run.run), run)
        if run.status == "running":
            return self._raise_revision()
        self._forget_old_runs(run.action)
        return self.put_action(
            ActionRecord(action=run.action, status=run.status, outputs=run.outputs)
        )

    def action_run(self, action: str, run: str) -> ActionRun | None:
        """The progress of a run of an action."""
        return self._read(_action_run_key(action, run), ActionRun)

    def _forget_old_runs(self, action: str) -> None:
        prefix = _action_run_key(action, "").removesuffix(".json")
        if len(self._store.list(prefix)) > _RUNS_KEPT:
            newest_first = sorted(self._all(prefix, ActionRun), key=lambda one: -one.begun)
            for old in newest_first[_RUNS_KEPT:]:
                self._store.delete(_action_run_key(action, old.run))

    def deployed(self) -> DeployedRelease | None:
        """The release deployed last, if there is one."""
        return self._read(_RELEASE, DeployedRelease)

    def put_deployed(self, deployed: DeployedRelease) -> int:
        """Record that a deploy of the whole release succeeded."""
        self._write(_RELEASE, deployed)
        return self._raise_revision()

    def provisioned(self) -> ProvisionedRelease | None:
        """The release provisioned last, if there is one."""
        return self._read(_PROVISIONED, ProvisionedRelease)

    def put_provisioned(self, provisioned: ProvisionedRelease) -> int:
        """Record that a whole provision succeeded."""
        self._write(_PROVISIONED, provisioned)
        return self._raise_revision()

    def sandbox_document(
        self, config: "AppConfig", app: str, *, checked: bool = True
    ) -> StateDocument:
        """What the sandbox's templates see, which is deployed before anything else.

        Raises:
            InputErrors: `checked`, and values are missing or invalid.
        """
        return StateDocument(
            install_id=self._install,
            org=OrgState(id=self._org, name=self._org),
            app=AppState(id=app, name=app),
            inputs=self.inputs(config, checked=checked),
        )

    def document(
        self,
        config: "AppConfig",
        app: str,
        run: ActionRun | None = None,
        *,
        checked: bool = True,
    ) -> StateDocument:
        """What templates see; in a run of an action, that action's state is the run's own.

        Raises:
            InputErrors: `checked`, and values are missing or invalid.
        """
        actions = {one.action: one for one in self._all("actions/", ActionRecord)}
        if run is not None:
            actions[run.action] = run
        return with_parts(
            self.sandbox_document(config, app, checked=checked),
            self.component(SANDBOX),
            self.components(),
            actions,
        )

    def secrets(self, config: "AppConfig", *, checked: bool = True) -> list[object]:
        """Every sensitive value that is known, given a release; these must be masked everywhere."""
        values = self.inputs(config, checked=checked).values()
        inputs = [one.value for one in values if isinstance(one, Sensitive)]
        return [*self.secrets_of_any_release(), *inputs]

    def secrets_of_any_release(self) -> list[object]:
        """Every sensitive value in the store."""
        sandbox = self.component(SANDBOX)
        kept = [one.outputs for one in (*self.components().values(), sandbox) if one]
        kept += [one.outputs for one in self._all("actions/", ActionRecord)]
        outputs = [out.value for one in kept for out in one.values() if out.sensitive]
        # Includes inputs of other releases: a component that is torn down may still contain them.
        set_here = read_document(self._store, _SENSITIVE_INPUTS)
        return [*outputs, *(set_here[0].values() if set_here else ())]

    def digest_key(self) -> bytes:
        """The key of plan digests; created once, and never shown."""
        found = self._store.get(_DIGEST_KEY)
        if found is None:
            try:
                self._store.put(_DIGEST_KEY, secrets.token_bytes(32), if_match=ABSENT)
            except Conflict:
                return self.digest_key()
            return self.digest_key()
        return found.data

    def _raise_revision(self) -> int:
        revisions: list[int] = []

        def raised(now: Mapping[str, object] | None) -> dict[str, object]:
            revisions[:] = [int(str(now["revision"])) + 1 if now else 1]
            return {"revision": revisions[0]}

        change_document(self._store, _REVISION, raised)
        return revisions[0]

    def _read(self, key: str, model: type[M]) -> M | None:
        found = self._store.get(key)
        return model.model_validate_json(found.data) if found else None

    def _write(self, key: str, record: BaseModel) -> None:
        self._store.put(key, record.model_dump_json(indent=1).encode(), if_match=ANY)

    def _all(self, prefix: str, model: type[M]) -> Iterable[M]:
        for key in self._store.list(prefix):
            record = self._read(key, model)
            if record is not None:
                yield record


def _component_key(name: str) -> str:
    return _SANDBOX if name == SANDBOX else f"components/{name}.json"


def _action_run_key(action: str, run: str) -> str:
    return f"action-runs/{action}/{run}.json"


def _declared(config: "AppConfig", values: Mapping[str, str]) -> dict[str, str]:
    """The values of the inputs that this release declares; other releases may declare others."""
    declared = {one.name for one in config.inputs}
    return {name: value for name, value in values.items() if name in declared}
