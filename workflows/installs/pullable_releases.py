"""Which releases the install's worker may pull.

They are the newest ones that somebody asked the install to run, by a command or by starting a run,
and, however old, those that made what is deployed now: a part is torn down from the release that
made it.
"""

from collections.abc import Iterable

from contracts.installs import CarriedInstall, MadeBy, TurnEnd
from contracts.names import Digest

REQUESTED_RELEASES_KEPT = 50
_PARTS_KEPT = 1_000
"""The customer's worker chooses their names, and Install carries them when it continues as new."""


class PullableReleases:
    """Kept by the Install workflow, and carried when it continues as new."""

    def __init__(self, carried: CarriedInstall) -> None:
        self._requested: dict[Digest, None] = {}
        """Oldest first."""
        self._made: dict[str, list[Digest]] = {}
        requested = _requested_before(carried) if carried.told is None else carried.told
        for release in reversed(requested):
            self.request(release)
        for one in _made_before(carried) if carried.made is None else carried.made:
            self._made[one.component] = list(one.releases)

    @property
    def newest(self) -> list[Digest]:
        """The releases that the install was asked to run, newest first."""
        return list(reversed(self._requested))

    @property
    def made(self) -> list[MadeBy]:
        """For each part, the releases that made what is deployed of it."""
        return [MadeBy(component=name, releases=made) for name, made in sorted(self._made.items())]

    @property
    def all(self) -> list[Digest]:
        """Every release that the worker may pull, newest first."""
        made = (release for one in self.made for release in one.releases)
        return list(dict.fromkeys([*self.newest, *made]))

    def request(self, release: Digest | None) -> None:
        """Note that somebody asked the install to run this release."""
        if release is None:
            return
        self._requested.pop(release, None)
        self._requested[release] = None
        while len(self._requested) > REQUESTED_RELEASES_KEPT:
            del self._requested[next(iter(self._requested))]

    def learn(self, end: TurnEnd) -> None:
        """Take in what a run has deployed and torn down."""
        for one in end.outcomes:
            if one.outcome == "torn down":
                self._made.pop(one.component, None)
            elif end.target is None:
                continue
            elif one.outcome in ("applied", "unchanged"):
                self._made[one.component] = [end.target]
            elif one.outcome == "failed":
                # Only the store knows whether it has made anything.
                before = self._made.get(one.component, [])[:1]
                self._made[one.component] = list(dict.fromkeys([*before, end.target]))
        for oldest in list(self._made)[: max(0, len(self._made) - _PARTS_KEPT)]:
            del self._made[oldest]


def _requested_before(carried: CarriedInstall) -> list[Digest]:
    """What has run, newest first; for an Install from before this was carried."""
    ran = [carried.release, *(one.release for one in carried.before)]
    return list(dict.fromkeys(release for release in ran if release is not None))


def _made_before(carried: CarriedInstall) -> Iterable[MadeBy]:
    return [
        MadeBy(component=one.component, releases=[one.release])
        for one in carried.parts
        if one.release is not None
    ]
