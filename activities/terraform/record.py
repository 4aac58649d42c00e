"""What the store remembers of what Terraform deployed: a component, or the sandbox."""

import asyncio
from collections.abc import Mapping

from activities.deploy.decisions import SANDBOX_TYPE
from activities.deploy.fingerprints import input_fingerprints, module_fingerprint
from activities.terraform.outputs import as_sent
from activities.terraform.secrets import KnownSecrets
from activities.terraform.state_file import state_key
from activities.terraform.values import keep_values
from activities.terraform.workspace import Workspace
from activities.workplace import Workplace
from apps.config import TerraformComponent
from apps.graph import Graph
from apps.parts import SANDBOX
from contracts.deploys import Outputs
from contracts.messages import OperationInput
from store.install_state import ComponentRecord, Output


async def record_applying(workplace: Workplace, input: OperationInput, space: Workspace) -> None:
    """Remember, before anything is changed, that an apply or a teardown has begun."""
    before = await asyncio.to_thread(workplace.state.component, input.component)
    if getattr(input, "teardown", False):
        if before is not None:
            began = {"status": "applying", "generation": input.key}
            await asyncio.to_thread(workplace.state.put_component, before.model_copy(update=began))
        return
    outputs = before.outputs if before else {}
    record = await asyncio.to_thread(_record, workplace, input, space, outputs, applying=True)
    await asyncio.to_thread(workplace.state.put_component, record)


async def record_done(
    workplace: Workplace,
    input: OperationInput,
    space: Workspace,
    secrets: KnownSecrets,
    outputs: Mapping[str, Output],
) -> tuple[int, Outputs]:
    """Remember that the part is what the release says.

    Args:
        workplace: Where the store is.
        input: Which part of which release.
        space: Its working folder.
        secrets: What must not travel; learns the outputs that are sensitive.
        outputs: The module's.

    Returns:
        The state's new revision, and the outputs as they may travel.
    """
    secrets.learn_outputs(outputs)
    record = await asyncio.to_thread(_record, workplace, input, space, outputs, applying=False)
    revision = await asyncio.to_thread(workplace.state.put_component, record)
    return revision, as_sent(outputs, await asyncio.to_thread(secrets.mask))


async def record_gone(workplace: Workplace, component: str) -> int:
    """Forget a part that was torn down, with its empty state."""

    def forget() -> int:
        for key in workplace.store.list(state_key(component).rpartition("/")[0] + "/"):
            workplace.store.delete(key)
        return workplace.state.remove_component(component)

    return await asyncio.to_thread(forget)


def _record(
    workplace: Workplace,
    input: OperationInput,
    space: Workspace,
    outputs: Mapping[str, Output],
    *,
    applying: bool,
) -> ComponentRecord:
    config = workplace.releases.config(input.app, input.release)
    # First: where the record is, what the part is torn down with is there too.
    keep_values(workplace, config, input.component, space.values)
    state, graph, part = workplace.state, Graph(config), input.component
    component = space.module if isinstance(space.module, TerraformComponent) else None
    before = state.component(part)
    dependencies = graph.dependencies(part) if component else []
    below = [*dependencies, *([SANDBOX] if graph.reads_sandbox(part) else [])]
    deployed = {name: record for name in below if (record := state.component(name))}
    return ComponentRecord(
        component=part,
        type=component.type if component else SANDBOX_TYPE,
        status="applying" if applying else "done",
        app=input.app,
        release=input.release,
        artifact=space.artifact,
        config=module_fingerprint(space.module),
        inputs=input_fingerprints(graph, part, state.inputs(config), state.digest_key()),
        generation=input.key if applying or before is None else before.generation,
        built_on={name: record.generation for name, record in deployed.items()},
        dependencies=dependencies,
        var_name=component.var_name if component else None,
        outputs=dict(outputs),
    )
