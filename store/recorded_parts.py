"""Converts the records of parts and actions to the state that templates see."""

from collections.abc import Mapping
from dataclasses import replace

from apps.sensitivity import Sensitive
from apps.state import ActionState, ComponentState, SandboxState, StateDocument
from store.install_records import ActionRecord, ComponentRecord, Output


def with_parts(
    document: StateDocument,
    sandbox: ComponentRecord | None,
    components: Mapping[str, ComponentRecord],
    actions: Mapping[str, ActionRecord],
) -> StateDocument:
    """The document, with the sandbox, components and actions from these records."""
    return replace(
        document,
        sandbox=_sandbox(sandbox) if sandbox else None,
        components={name: _component(one) for name, one in components.items()},
        actions={
            name: ActionState(status=one.status, outputs=_outputs(one.outputs))
            for name, one in actions.items()
        },
    )


def _sandbox(record: ComponentRecord) -> SandboxState:
    return SandboxState(
        status=_status(record), outputs=_outputs(record.outputs), version=record.artifact
    )


def _component(record: ComponentRecord) -> ComponentState:
    return ComponentState(
        status=_status(record),
        outputs=_outputs(record.outputs),
        build_id=record.artifact,
        var_name=record.var_name,
    )


def _status(record: ComponentRecord) -> str:
    return "active" if record.status == "done" else record.status


def _outputs(outputs: Mapping[str, Output]) -> dict[str, object | Sensitive]:
    return {
        name: Sensitive(one.value) if one.sensitive else one.value for name, one in outputs.items()
    }
