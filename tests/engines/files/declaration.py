"""The engine of the tests alone: it writes a component's files into a folder of the machine.

It deploys components of the type `pulumi`, whose models the app config has already: `config` names
the `folder`, and a file of `lines` to which each name is added that was written. All files of the
component's source are written.
"""

from datetime import timedelta

from apps.environment import ToolVariables
from contracts.activities import Activity
from contracts.deploys import Applied, ApplyInput, Plan, PlanInput
from contracts.engines import EngineSpec, PlanAndApply

FILES = EngineSpec(
    name="files",
    types=("pulumi",),
    feature="files/1",
    work=PlanAndApply(
        Activity("files.plan", PlanInput, Plan, timedelta(days=1)),
        Activity("files.apply", ApplyInput, Applied, timedelta(days=1)),
    ),
    tool_bytes=16 * 1024 * 1024,
    variables=ToolVariables(refused=("PULUMI_",)),
)
