"""Which releases the install's worker may pull: those that the install was told to run.

These are the newest that a person's command or a run that somebody started has named, and those
that made what is there now, however old: a part is torn down from the release that made it.
"""

from collections.abc import Iterable

from contracts.installs import CarriedInstall, MadeBy, TurnEnd
from contracts.names import Digest

TOLD_RELEASES_KEPT = 50
_PARTS_KEPT = 1_000
"""Their names are the customer's worker's, and are carried when Install continues as new."""


class ToldReleases:
    """Kept by the Install workflow, and carried when it continues as new."""

    def __init__(self, carried: CarriedInstall) -> None:
        self._told: dict[Digest, None] = {}
        """Oldest first."""
        self._made: dict[str, list[Digest]] = {}
        told = _told_before(carried) if carried.told is None else carried.told
        for release in reversed(told):
            self.tell(release)
        for one in _made_before(carried) if carried.made is None else carried.made:
            self._made[one.component] = list(one.releases)

    @property
    def newest(self) -> list[Digest]:
        """What the install was told to run, newest first."""
        return list(reversed(self._told))

    @property
    def made(self) -> list[MadeBy]:
        """By part, the releases that have made what is there of it."""
        return [MadeBy(component=name, releases=made) for name, made in sorted(self._made.items())]

    @property
    def all(self) -> list[Digest]:
        """Every release that the worker may pull, newest first."""
        made = (release for one in self.made for release in one.releases)
        return list(dict.fromkeys([*self.newest, *made]))

    def tell(self, release: Digest | None) -> None:
        """The install was told to run this."""
        if release is None:
            return
        self._told.pop(release, None)
        self._told[release] = None
        while len(self._told) > TOLD_RELEASES_KEPT:
            del self._told[next(iter(self._told))]

    def learn(self, end: TurnEnd) -> None:
        """Take in what a run has made and torn down."""
        for one in end.outcomes:
            if one.outcome == "torn down":
                self._made.pop(one.component, None)
            elif end.target is None:
                continue
            elif one.outcome in ("applied", "unchanged"):
                self._made[one.component] = [end.target]
            elif one.outcome == "failed":
                # Whether it has made anything only the store knows.
                before = self._made.get(one.component, [])[:1]
                self._made[one.component] = list(dict.fromkeys([*before, end.target]))
        for oldest in list(self._made)[: max(0, len(self._made) - _PARTS_KEPT)]:
            del self._made[oldest]


def _told_before(carried: CarriedInstall) -> list[Digest]:
    """Of an Install that did not keep it yet: what has run, newest first."""
    ran = [carried.release, *(one.release for one in carried.before)]
    return list(dict.fromkeys(release for release in ran if release is not None))


def _made_before(carried: CarriedInstall) -> Iterable[MadeBy]:
    return [
        MadeBy(component=one.component, releases=[one.release])
        for one in carried.parts
        if one.release is not None
    ]
