"""The engines of the install workers that are shipped, one a line."""

from typing import Final

from activities.engines import Engine
from activities.terraform.engine import TERRAFORM_ENGINE

ENGINES: Final[tuple[Engine, ...]] = (TERRAFORM_ENGINE,)
