"""The state of an install as its runs have left it: what runs, what failed, what ran before."""

from collections.abc import Iterable
from datetime import datetime

from contracts.deploys import Inputs
from contracts.errors import BadInput
from contracts.installs import CarriedInstall, PartNow, ReleaseBefore, RunFailure, TurnEnd
from contracts.names import Digest
from workflows.installs.inputs import merged

_RELEASES_KEPT = 20
_VALUES_KEPT_BYTES = 512 * 1024
"""Limit for the inputs of all earlier releases together: they travel with every continue-as-new,
and a payload holds at most 2 MiB."""

_PARTS_KEPT = 1_000
_REASONS_KEPT_BYTES = 256 * 1024
"""Limit for the reasons of all parts together, for the same reason."""

_NOTHING_BEGUN = frozenset({"not attempted"})
"""Outcomes that say nothing new about the part itself."""


class Standing:
    """Learns from the end of each run."""

    def __init__(self, carried: CarriedInstall) -> None:
        self.release = carried.release
        self.provisioned = carried.provisioned
        self.failure = carried.failure
        self.before = list(carried.before)
        self.schedules = list(carried.schedules)
        self._parts = {one.component: one for one in carried.parts}

    @property
    def parts(self) -> list[PartNow]:
        """The parts and their last outcomes, ordered by name."""
        return [self._parts[name] for name in sorted(self._parts)]

    @property
    def status(self) -> str:
        """The install's status in one word; `failed` is about its newest run."""
        if self.failure is not None:
            return "failed"
        if self.release is not None:
            return "deployed"
        return "provisioned" if self.provisioned else "connected"

    def learn(self, end: TurnEnd, now: datetime) -> None:
        """Take in how a run ended."""
        at = now.isoformat()
        self._learn_parts(end, at)
        self.schedules = self.schedules if end.schedules is None else list(end.schedules)
        if end.provisioned is not None:
            self.provisioned = end.provisioned
        if end.provisioned is False:
            self.release = None
        if end.release is not None:
            self._learn_release(end.release, end, at)
        if end.failure:
            self.failure = RunFailure(workflow_id=end.workflow_id, message=end.failure, at=at)
        elif end.release is not None or end.provisioned is not None:
            self.failure = None

    def _learn_parts(self, end: TurnEnd, at: str) -> None:
        for one in end.outcomes:
            known = self._parts.get(one.component)
            if one.outcome == "torn down":
                self._parts.pop(one.component, None)
            elif one.outcome == "skipped" and known is not None:
                self._parts[one.component] = known.model_copy(update={"release": end.target})
            elif one.outcome not in _NOTHING_BEGUN or known is None:
                self._parts[one.component] = PartNow(
                    component=one.component,
                    outcome=one.outcome,
                    reason=one.reason,
                    release=end.target,
                    workflow_id=end.workflow_id,
                    at=at,
                )

        self._parts = _within_bounds(self._parts)

    def _learn_release(self, release: Digest, end: TurnEnd, at: str) -> None:
        self.release = release
        values = end.inputs.values if end.inputs else {}
        newest = ReleaseBefore(release=release, values=values, workflow_id=end.workflow_id, at=at)
        others = [one for one in self.before if one.release != release]
        self.before = _within_limits([newest, *others])

    def release_before(self) -> Digest:
        """The release to roll back to if none is named.

        After a failed deploy that is the last one that succeeded, otherwise the one before that.

        Raises:
            BadInput: there is no such release.
        """
        if not self.before:
            raise BadInput("The install has not run a release yet: there is none to roll back to.")
        if self.failure is not None and self.failure.workflow_id != self.before[0].workflow_id:
            return self.before[0].release
        if len(self.before) == 1:
            raise BadInput(
                f"The install has only ever run {self.before[0].release}, which it runs now."
            )
        return self.before[1].release

    def inputs_of(self, release: Digest, inputs: Inputs, now: datetime) -> Inputs:
        """The next revision of the inputs, with the values that they had under that release.

        Raises:
            BadInput: those values are not known any more.
        """
        found = next((one for one in self.before if one.release == release), None)
        if found is None:
            raise BadInput(
                f"The inputs under {release} are not known. They are known for: "
                f"{_listed(one.release for one in self.before)}. Roll back without `inputs`."
            )
        gone: dict[str, str | None] = dict.fromkeys(inputs.values)
        return merged(inputs, {**gone, **found.values}, now)


def _within_bounds(parts: dict[str, PartNow]) -> dict[str, PartNow]:
    """The newest parts, and their reasons up to a limit: names and reasons come from the customer's
    worker, so their size has to be bounded."""
    newest = sorted(parts.values(), key=lambda one: one.at, reverse=True)[:_PARTS_KEPT]
    left, kept = _REASONS_KEPT_BYTES, {}
    for one in newest:
        left -= len(one.reason.encode())
        kept[one.component] = one if left >= 0 else one.model_copy(update={"reason": ""})
    return kept


def _within_limits(before: list[ReleaseBefore]) -> list[ReleaseBefore]:
    kept: list[ReleaseBefore] = []
    size = 0
    for one in before[:_RELEASES_KEPT]:
        size += len(one.model_dump_json())
        if kept and size > _VALUES_KEPT_BYTES:
            break
        kept.append(one)
    return kept


def _listed(releases: Iterable[str]) -> str:
    return ", ".join(releases) or "none"
