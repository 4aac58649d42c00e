"""Plans as Terraform 1.11 printed them."""

from pathlib import Path

from activities.terraform.plan_json import TerraformChanges, read_changes

PLANS = Path(__file__).parent / "plans"
NAMES = sorted(path.stem for path in PLANS.glob("*.json"))
SECRET = "hunter2"
"""Every sensitive value in the plans begins with it, or is `other-secret-1`."""


def plan(name: str) -> bytes:
    return (PLANS / f"{name}.json").read_bytes()


def changes(name: str) -> TerraformChanges:
    return read_changes(plan(name))
