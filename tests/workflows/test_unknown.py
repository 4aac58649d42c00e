"""A run of a type that does not exist is told of those that do."""

from workers.control import WORKFLOWS
from workflows.unknown import WORKFLOW_TYPES, Unknown


def test_it_names_every_type() -> None:
    assert set(WORKFLOW_TYPES) == {one.__name__ for one in WORKFLOWS if one is not Unknown}
