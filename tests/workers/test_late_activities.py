"""An install worker's activities look the same before and after their engines are imported."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from temporalio import activity
from temporalio.testing import ActivityEnvironment

from activities.customer.rules import rules_of
from activities.workplace import Workplace
from artifacts.registry import Registry
from contracts.errors import BadInput
from contracts.logs import ReadLog
from stacks.enrolment import Enrolment
from workers.install import open_workplace
from workers.lazy_activities import activities_of_runs
from workers.run_activities import RunActivities


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    enrolment = Enrolment.of(
        install="acme",
        namespace="dev",
        temporal="127.0.0.1:1",
        releases="http://127.0.0.1:1",
    )
    file = tmp_path / "enrolment.toml"
    file.write_text(enrolment.render())

    def releases() -> Registry:
        return Registry(enrolment.releases)

    return open_workplace(enrolment, tmp_path, releases, rules_of(file, None))


def defined(function: Callable[..., Any]) -> tuple[str | None, object, object]:
    found = activity._Definition.must_from_callable(function)
    return found.name, found.arg_types, found.ret_type


def test_each_has_the_name_and_the_types_of_its_engines_own(workplace: Workplace) -> None:
    late = [defined(one) for one in activities_of_runs(workplace)]
    own = RunActivities(workplace)
    loaded = [
        *own.of_engines.values(),
        *(
            getattr(group, name)
            for group in vars(own).values()
            for name in dir(group)
            if hasattr(getattr(group, name), "__temporal_activity_definition")
        ),
    ]
    assert sorted(map(str, late)) == sorted(str(defined(one)) for one in loaded)


def test_an_engines_activities_have_the_names_that_it_declares(workplace: Workplace) -> None:
    for name, done in RunActivities(workplace).of_engines.items():
        assert defined(done)[0] == name


async def test_a_call_reaches_the_engine(workplace: Workplace) -> None:
    late = {defined(one)[0]: one for one in activities_of_runs(workplace)}
    with pytest.raises(BadInput, match="is not a position in an operation's log"):
        await ActivityEnvironment().run(late["operation.log"], ReadLog(install="acme", key="x"))
