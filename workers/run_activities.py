"""The activities of runs; `workers.lazy_activities` imports this module with the first task."""

import activities.releases.reader  # noqa: F401 - imported here for the workplace, which needs it later
from activities.action.activities import ActionActivities
from activities.deploy.activities import DeployActivities
from activities.deploy.deprovision import DeprovisionActivities
from activities.deploy.provision import ProvisionActivities
from activities.engines import AnyActivity
from activities.logs.activities import LogActivities
from activities.readme import ReadmeActivities
from activities.workplace import Workplace


class RunActivities:
    """All activities of runs, on one workplace."""

    def __init__(self, workplace: Workplace) -> None:
        self.logs = LogActivities(workplace)
        self.readme = ReadmeActivities(workplace)
        self.deploy = DeployActivities(workplace)
        self.provision = ProvisionActivities(workplace)
        self.deprovision = DeprovisionActivities(workplace)
        self.action = ActionActivities(workplace)
        self.of_engines: dict[str, AnyActivity] = {
            declared.name: done
            for engine in workplace.engines
            for declared, done in zip(
                engine.spec.work.activities, engine.activities(workplace), strict=True
            )
        }
        """By the activity's name."""
