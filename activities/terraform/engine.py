"""The registration of the Terraform engine."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from activities.engines import AnyActivity, Engine
from activities.terraform.tool import find_terraform
from contracts.engines import TERRAFORM

if TYPE_CHECKING:
    from activities.secrets.masking import Mask
    from activities.workplace import Workplace
    from store.interface import Store

# Imports within functions happen with the first task, so that an idle worker needs less memory.


def _activities(workplace: "Workplace") -> Sequence[AnyActivity]:
    from activities.terraform.activities import TerraformActivities  # noqa: PLC0415

    found = TerraformActivities(workplace)
    return found.plan, found.apply


def _learn_secrets(store: "Store", run: str, part: str, known: "Mask") -> "Mask":
    from activities.plans.plan_store import load_shown  # noqa: PLC0415
    from activities.terraform.plan_json import read_changes  # noqa: PLC0415
    from activities.terraform.secrets import KnownSecrets  # noqa: PLC0415
    from activities.terraform.state_file import StateFile  # noqa: PLC0415

    secrets = KnownSecrets(known, StateFile(store, part))
    for shown in load_shown(store, f"{run}/{part}/"):
        secrets.learn_plan(read_changes(shown))
    return secrets.mask()


def _worker_secrets(store: "Store") -> list[object]:
    from activities.terraform.backends.registry import worker_secrets  # noqa: PLC0415

    return worker_secrets(store)


def _holds_only_copy(run: Path) -> bool:
    from activities.terraform.state_file import UNSAVED, printed_unsaved  # noqa: PLC0415

    return any(printed_unsaved(mark.parent) for mark in run.rglob(UNSAVED))


TERRAFORM_ENGINE: Final = Engine(
    TERRAFORM,
    activities=_activities,
    find_tool=find_terraform,
    learn_secrets=_learn_secrets,
    worker_secrets=_worker_secrets,
    holds_only_copy=_holds_only_copy,
)
