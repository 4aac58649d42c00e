"""Triggers as vendors write them, and what a release then wants to be run."""

from typing import get_args

import pytest

from apps.config.actions import TriggerType
from apps.triggers import triggered_actions
from tests.apps.app_folder import ACTION, DB, App, told


def triggered(app: App, *triggers: str) -> None:
    written = ", ".join(f"{{ {one} }}" for one in triggers)
    app.write("actions/check.toml", ACTION.replace('{ type = "manual" }', written))


@pytest.mark.parametrize("kind", get_args(TriggerType))
def test_every_kind_is_read(app: App, kind: str) -> None:
    more = {"cron": ', cron_schedule = "@daily"'}
    component = ', component_name = "db"' if kind.endswith("-component") else ""
    triggered(app, f'type = "{kind}", index = 3{more.get(kind, component)}')
    loaded = app.load()
    assert loaded.warnings == []
    [trigger] = loaded.config.actions[0].triggers
    assert (trigger.type, trigger.index) == (kind, 3)


@pytest.mark.parametrize(
    ("trigger", "message"),
    [
        ('type = "cron"', "cron_schedule: is required for `cron`"),
        ('type = "cron", cron_schedule = "0 25 * * *"', "cron_schedule: the hour `25` has the val"),
        ('type = "post-deploy-component"', "component_name: is required for `post-deploy-compon"),
        (
            'type = "pre-deploy-component", component_name = "dbb"',
            "component_name: there is no component `dbb`; did you mean `db`?",
        ),
        ('type = "manual", index = "first"', "index: "),
        ('index = 1', "type: is required"),
    ],
)  # fmt: skip
def test_each_mistake_is_told_by_its_index(app: App, trigger: str, message: str) -> None:
    triggered(app, 'type = "manual"', trigger)
    error = app.only_error()
    assert error.startswith(f"actions/check.toml: triggers[1].{message}"), error


def test_each_mistake_keeps_its_index(app: App) -> None:
    triggered(app, 'type = "cron"', 'type = "manual"', 'type = "cron"')
    assert [error.split(": ")[1] for error in app.errors()] == [
        "triggers[0].cron_schedule",
        "triggers[2].cron_schedule",
    ]


def test_what_nothing_starts_yet_never_comes(app: App) -> None:
    triggered(app, 'type = "role-enabled"', 'type = "pre-provision"')
    loaded = app.load()
    assert [trigger.type for _, trigger in triggered_actions(loaded.config)] == ["pre-provision"]
    [note] = loaded.notes
    assert told(note) == (
        "actions/check.toml: triggers[0].type: accepted, but the trigger `role-enabled` is not "
        "supported yet"
    )


def test_what_runs_by_itself_in_order_of_index_and_name(app: App) -> None:
    app.write("components/api.toml", DB.replace('"db"', '"my-api"\nvar_name = "api"', 1))
    triggered(
        app,
        'type = "manual"',
        'type = "cron", cron_schedule = "@daily"',
        'type = "cron", cron_schedule = "0 4 * * *", index = -1',
        'type = "post-deploy-component", component_name = "api", index = 1',
    )
    other = ACTION.replace('"check"', '"also"').replace("manual", "pre-provision")
    app.write("actions/also.toml", other)
    app.write("actions/by-hand.toml", 'name = "by-hand"\nsteps = [{ name = "x", command = "y" }]\n')
    found = triggered_actions(app.load().config)
    assert [(a.name, t.type, t.cron_schedule or t.component_name) for a, t in found] == [
        ("check", "cron", "0 4 * * *"),
        ("also", "pre-provision", None),
        ("check", "cron", "@daily"),
        ("check", "post-deploy-component", "my-api"),
    ]


@pytest.mark.parametrize("moment", ["provision", "reprovision", "deprovision"])
def test_what_a_run_starts_can_be_configured(app: App, moment: str) -> None:
    triggered(app, f'type = "pre-{moment}"', f'type = "post-{moment}"')
    loaded = app.load()
    assert loaded.notes == []
    started = [trigger.type for _, trigger in triggered_actions(loaded.config)]
    assert started == [f"pre-{moment}", f"post-{moment}"]
