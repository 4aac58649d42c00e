"""The engines of the shipped install worker, one per line."""

from typing import Final

from activities.engines import Engine
from activities.terraform.engine import TERRAFORM_ENGINE

ENGINES: Final[tuple[Engine, ...]] = (TERRAFORM_ENGINE,)
