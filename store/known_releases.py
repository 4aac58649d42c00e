"""The releases that runs have deployed to the install, or have begun to deploy."""

from typing import Final

from store.documents import Document, change_document, read_document
from store.errors import Malformed
from store.install_state import InstallState
from store.interface import Store

_KEY: Final = "releases.json"

_KEPT: Final = 100
"""Enough to go back to a release of weeks ago; nobody goes back by years."""


def note_release(store: Store, release: str) -> None:
    """Record that a run begins to deploy the release; blocks."""

    def add(document: Document | None) -> Document | None:
        known = _parse(document)
        if known[:1] == [release]:
            return None
        return {"releases": [release, *(one for one in known if one != release)][:_KEPT]}

    change_document(store, _KEY, add)


def known_releases(store: Store, state: InstallState) -> set[str]:
    """Every release that is recorded here, or that anything deployed comes from; blocks."""
    found = read_document(store, _KEY)
    whole = [one.release for one in (state.deployed(), state.provisioned()) if one is not None]
    parts = [one.release for one in state.components().values()]
    return {*_parse(found[0] if found else None), *whole, *parts}


def _parse(document: Document | None) -> list[str]:
    try:
        return [str(one) for one in document["releases"]] if document else []
    except (KeyError, TypeError) as error:
        raise Malformed(f"{_KEY} is not a list of releases: {error!r}; delete it") from error
