"""The inputs of an install, and what they may be set to: what its newest release declares."""

import json
from collections.abc import Mapping
from datetime import datetime

from temporalio import workflow
from temporalio.exceptions import FailureError, is_cancelled_exception

from apps.input_values import type_problem
from contracts import releases
from contracts.activities import UNTIL_DONE
from contracts.deploys import INPUTS_LIMIT_BYTES, Inputs
from contracts.errors import BadInput
from contracts.installs import CarriedInstall
from contracts.names import Digest, Name
from contracts.releases import DeclaredInput, ReadRelease, ReleaseGraph
from workflows.calls import call_control, until_it_is_done
from workflows.failures import in_words


class InstallInputs:
    """Kept by the Install workflow, and carried when it continues as new."""

    def __init__(self, carried: CarriedInstall) -> None:
        self.current = carried.inputs
        self.declared = carried.declared
        self.declared_by = carried.declared_by
        """The release whose inputs are declared; None if its runs must read it themselves."""
        self.unread: Digest | None = None
        """A release whose declared inputs are still to be read."""

    def brought(self, release: Digest | None) -> None:
        """Note that a run was started which brings this release."""
        if release is not None and release != self.declared_by:
            self.unread = release

    async def read_first(self, app: Name, release: Digest, *, local: bool) -> None:
        """Read which inputs the install's first release declares."""
        graph = await until_it_is_done(
            lambda: call_control(
                releases.READ,
                ReadRelease(app=app, release=release),
                local=local,
                retry=UNTIL_DONE,
                summary="read the declared inputs",
            )
        )
        self._take(graph)

    async def read(self, app: Name, release: Digest, *, local: bool) -> None:
        """Read which inputs a release declares that is being deployed. If the release is wrong, the
        deploy reports it."""
        self.unread = None
        try:
            graph = await call_control(
                releases.READ,
                ReadRelease(app=app, release=release),
                local=local,
                summary="read the declared inputs",
            )
        except FailureError as error:
            if is_cancelled_exception(error):
                raise
            workflow.logger.warning("Cannot read %s: %s", release, in_words(error))
            return
        self._take(graph)

    def _take(self, graph: ReleaseGraph) -> None:
        self.declared = graph.inputs
        # What a release requires of a worker is only known to who reads it.
        self.declared_by = None if graph.requires else graph.release


def refuse_values(values: Mapping[str, str | None], declared: list[DeclaredInput] | None) -> None:
    """Refuse inputs that the app does not declare, values of a wrong type, and sensitive inputs.

    Raises:
        BadInput: names every problem.
    """
    if declared is None:
        raise BadInput(
            "The install has not read a release yet, so its inputs are not known. Start Install "
            "with `release`, or deploy a release first."
        )
    by_name = {one.name: one for one in declared}
    problems = [
        problem
        for name, value in values.items()
        if (problem := _problem(name, value, by_name)) is not None
    ]
    if problems:
        raise BadInput("; ".join(problems))


def merged(inputs: Inputs, values: Mapping[str, str | None], now: datetime) -> Inputs:
    """The next revision of the inputs; null resets a value to its default.

    Revisions grow like turns, by the workflow's time in milliseconds, so that what is set on a
    restarted Install is newer than what the store has.
    """
    kept = {**inputs.values, **values}
    removed = {*inputs.removed, *(name for name, value in values.items() if value is None)}
    return Inputs(
        revision=max(inputs.revision + 1, int(now.timestamp() * 1000)),
        values={name: value for name, value in kept.items() if value is not None},
        base=inputs.base,
        removed=sorted(name for name in removed if kept.get(name) is None),
    )


def refuse_size(inputs: Inputs) -> None:
    """Refuse values that are together too large to travel with a deploy.

    Raises:
        BadInput: names the limit and the largest value.
    """
    size = len(json.dumps(inputs.values).encode())
    if size > INPUTS_LIMIT_BYTES:
        largest = max(inputs.values, key=lambda name: len(inputs.values[name]))
        raise BadInput(
            f"All values together would be {size} bytes, and the limit is {INPUTS_LIMIT_BYTES}; "
            f"the largest is {largest}. Put large data into the release or into the customer's "
            "storage, and set its address as the value."
        )


def _problem(name: str, value: str | None, declared: Mapping[str, DeclaredInput]) -> str | None:
    one = declared.get(name)
    if one is None:
        return f"{name}: the app has no such input; it has: {', '.join(declared) or 'none'}"
    if one.sensitive:
        return (
            f"{name}: is sensitive, and the control plane would keep what is sent here; set it on "
            f"the install worker's machine instead: exclave worker set-input {name}"
        )
    if value is None or (value == "" and not one.required):
        return None
    problem = type_problem(one.type, value)
    return f"{name}: {problem}" if problem else None
