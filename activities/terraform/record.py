"""What the store remembers of a deployed Terraform component."""

import asyncio

from activities.deploy.fingerprints import component_fingerprint, input_fingerprints
from activities.terraform.outputs import as_sent, read_outputs
from activities.terraform.secrets import KnownSecrets
from activities.terraform.state_file import state_key
from activities.terraform.workspace import Workspace
from activities.workplace import Workplace
from apps.graph import Graph
from contracts.deploys import Outputs
from contracts.messages import OperationInput
from store.install_state import ComponentRecord, Output


async def record_applying(workplace: Workplace, input: OperationInput, space: Workspace) -> None:
    """Remember, before anything is changed, that an apply has begun."""
    before = await asyncio.to_thread(workplace.state.component, input.component)
    outputs = before.outputs if before else {}
    record = await asyncio.to_thread(_record, workplace, input, space, outputs, applying=True)
    await asyncio.to_thread(workplace.state.put_component, record)


async def record_done(
    workplace: Workplace,
    input: OperationInput,
    space: Workspace,
    secrets: KnownSecrets,
    printed: bytes,
) -> tuple[int, Outputs]:
    """Remember that the component is what the release says.

    Args:
        workplace: Where the store is.
        input: Which component of which release.
        space: Its working folder.
        secrets: What must not travel; learns the outputs that are sensitive.
        printed: `terraform output -json`.

    Returns:
        The state's new revision, and the outputs as they may travel.
    """
    outputs = read_outputs(printed)
    secrets.learn_outputs(outputs)
    record = await asyncio.to_thread(_record, workplace, input, space, outputs, applying=False)
    revision = await asyncio.to_thread(workplace.state.put_component, record)
    return revision, as_sent(outputs, await asyncio.to_thread(secrets.mask))


async def record_gone(workplace: Workplace, component: str) -> int:
    """Forget a component that was torn down, with its empty state."""

    def forget() -> int:
        for key in workplace.store.list(state_key(component).rpartition("/")[0] + "/"):
            workplace.store.delete(key)
        return workplace.state.remove_component(component)

    return await asyncio.to_thread(forget)


def _record(
    workplace: Workplace,
    input: OperationInput,
    space: Workspace,
    outputs: dict[str, Output],
    *,
    applying: bool,
) -> ComponentRecord:
    config = workplace.releases.config(input.app, input.release)
    graph = Graph(config)
    key = workplace.state.digest_key()
    deployed = workplace.state.components()
    before = deployed.get(input.component)
    dependencies = graph.dependencies(input.component)
    return ComponentRecord(
        component=input.component,
        type=space.component.type,
        status="applying" if applying else "done",
        app=input.app,
        release=input.release,
        artifact=space.artifact,
        config=component_fingerprint(space.component),
        inputs=input_fingerprints(graph, input.component, workplace.state.inputs(config), key),
        generation=input.key if applying or before is None else before.generation,
        built_on={name: deployed[name].generation for name in dependencies if name in deployed},
        dependencies=dependencies,
        var_name=space.component.var_name,
        outputs=outputs,
    )
