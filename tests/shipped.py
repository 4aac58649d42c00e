"""What the engines that are shipped deploy."""

from contracts.engines import ENGINES, deployable

DEPLOYABLE = deployable(ENGINES)
