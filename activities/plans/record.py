"""Records in the store what is deployed of each part."""

import asyncio
from collections.abc import Mapping

from activities.plans.fingerprints import input_fingerprints, part_fingerprint
from activities.workplace import Workplace
from apps.graph import Graph
from apps.parts import SANDBOX
from contracts.messages import OperationInput
from store.install_records import ComponentRecord, Output


async def record_applying(workplace: Workplace, input: OperationInput, artifact: str) -> None:
    """Record, before anything is changed, that an apply or a teardown has begun.

    Args:
        workplace: The install's store and releases.
        input: Names the part and the release.
        artifact: The digest of the part's artifact.
    """
    before = await asyncio.to_thread(workplace.state.component, input.component)
    if getattr(input, "teardown", False):
        if before is not None:
            began = {"status": "applying", "generation": input.key}
            await asyncio.to_thread(workplace.state.put_component, before.model_copy(update=began))
        return
    outputs = before.outputs if before else {}
    record = await asyncio.to_thread(_record, workplace, input, artifact, outputs, applying=True)
    await asyncio.to_thread(workplace.state.put_component, record)


async def record_done(
    workplace: Workplace, input: OperationInput, artifact: str, outputs: Mapping[str, Output]
) -> int:
    """Record that the part is deployed as the release describes it.

    Args:
        workplace: The install's store and releases.
        input: Names the part and the release.
        artifact: The digest of the part's artifact.
        outputs: The part's outputs.

    Returns:
        The state's new revision.
    """
    record = await asyncio.to_thread(_record, workplace, input, artifact, outputs, applying=False)
    return await asyncio.to_thread(workplace.state.put_component, record)


def _record(
    workplace: Workplace,
    input: OperationInput,
    artifact: str,
    outputs: Mapping[str, Output],
    *,
    applying: bool,
) -> ComponentRecord:
    config = workplace.releases.config(input.app, input.release)
    state, graph, part = workplace.state, Graph(config), input.component
    component, model = config.component(part), config.part(part)
    if model is None:
        raise AssertionError("the release has the part, since an engine has just deployed it")
    before = state.component(part)
    dependencies = graph.dependencies(part) if component else []
    below = [*dependencies, *([SANDBOX] if graph.reads_sandbox(part) else [])]
    deployed = {name: record for name in below if (record := state.component(name))}
    return ComponentRecord(
        component=part,
        type=model.part_type,
        status="applying" if applying else "done",
        app=input.app,
        release=input.release,
        artifact=artifact,
        config=part_fingerprint(model),
        inputs=input_fingerprints(graph, part, state.inputs(config), state.digest_key()),
        generation=input.key if applying or before is None else before.generation,
        built_on={name: record.generation for name, record in deployed.items()},
        dependencies=dependencies,
        var_name=component.var_name if component else None,
        outputs=dict(outputs),
    )
