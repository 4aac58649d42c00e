"""Finds the install, run or release that a person names; a refusal lists what exists."""

import re
from typing import TypeVar

from pydantic import BaseModel

from client.control_plane import ControlPlane
from client.errors import Refused
from client.refusals import NoSuchRun
from contracts.installs import InstallStatus, RunStarted
from contracts.names import (
    ATTRIBUTE_INSTALL,
    DIGEST_PATTERN,
    NAME_PATTERN,
    Digest,
    install_workflow_id,
)

T = TypeVar("T")

_NAMED = 10
"""How many installs a refusal lists."""
_OPEN = "ExecutionStatus = 'Running'"
_INSTALLS = f"WorkflowType = 'Install' AND {_OPEN}"


async def update_install(
    plane: ControlPlane, install: str, update: str, argument: BaseModel, result: type[T]
) -> T:
    """Send an update to an install.

    Raises:
        Refused: the install refuses it, or there is no install of this name.
        Away: no control worker answers.
    """
    try:
        return await plane.send_update(install_workflow_id(install), update, argument, result)
    except NoSuchRun as error:
        raise await _no_install(plane, install) from error


async def begin(plane: ControlPlane, install: str, update: str, request: BaseModel) -> RunStarted:
    """Have an install start a run; raises as `update_install`."""
    return await update_install(plane, install, update, request, RunStarted)


async def status_of(plane: ControlPlane, install: str) -> InstallStatus:
    """An install's own status.

    Raises:
        Refused: there is no install of this name.
        Away: no control worker answers.
    """
    try:
        return await plane.ask(install_workflow_id(install), "status", InstallStatus)
    except NoSuchRun as error:
        raise await _no_install(plane, install) from error


async def run_named(plane: ControlPlane, name: str) -> str:
    """The workflow id of the run that a person means.

    For an install's name, that is the run that holds the install's turn, else the newest run.

    Raises:
        Refused: the install has no run, or there is no such install.
    """
    changing = await run_that_changes(plane, name)
    if changing is not None:
        return changing
    runs = await plane.find(f"{ATTRIBUTE_INSTALL} = '{name}' AND WorkflowType != 'Install'", 1)
    if not runs:
        raise Refused(f"The install {name} has had no run yet. Start one: exclave deploy {name} …")
    return runs[0].id


async def run_that_changes(plane: ControlPlane, name: str) -> str | None:
    """The workflow id of a run; for an install's name, of the run that holds its turn, or None.

    Raises:
        Refused: there is no such install.
    """
    if "/" in name:
        return name
    if not re.fullmatch(NAME_PATTERN, name):
        raise Refused(
            f"{name!r} is neither a run, such as deploy/acme/7, nor the name of an install."
        )
    holder = (await status_of(plane, name)).holder
    return holder.workflow_id if holder else None


async def release_named(plane: ControlPlane, install: str, name: str) -> Digest:
    """A release by its digest, or by the first digits of one that the install has run.

    Raises:
        Refused: no release that the install has run begins so, or several do.
    """
    if re.fullmatch(DIGEST_PATTERN, name):
        return name
    begin = name.removeprefix("sha256:")
    before = (await status_of(plane, install)).before
    known = [one.release for one in before]
    found = [one for one in known if begin and one.removeprefix("sha256:").startswith(begin)]
    if len(found) == 1:
        return found[0]
    has = "\n".join(["It has run:", *(f"  {one}" for one in known)]) if known else ""
    what = "More than one release" if found else "No release"
    raise Refused(
        f"{what} that {install} has run begins with {name!r}; write the whole digest, as `exclave "
        f"build` prints it. {has}".rstrip()
    )


async def _no_install(plane: ControlPlane, install: str) -> Refused:
    found = await plane.find(_INSTALLS, _NAMED + 1)
    names = [one.id.partition("/")[2] for one in found]
    more = ", …" if len(names) > _NAMED else ""
    there = (
        f"Existing installs: {', '.join(names[:_NAMED])}{more}." if names else "There are none yet."
    )
    return Refused(
        f"There is no install {install!r} in the namespace {plane.where.namespace}. {there} "
        f"To create it: exclave install {install} --app APP"
    )
