"""The releases that runs have brought to the install, or have begun to bring."""

from typing import Final

from store.documents import Document, change_document, read_document
from store.errors import Malformed
from store.install_state import InstallState
from store.interface import Store

_BROUGHT: Final = "releases.json"

_KEPT: Final = 100
"""An install goes back to a release of weeks ago, not to one of years ago."""


def note_brought(store: Store, release: str) -> None:
    """Note that a run begins to bring the release; blocks."""

    def add(document: Document | None) -> Document | None:
        known = _parse(document)
        if known[:1] == [release]:
            return None
        return {"releases": [release, *(one for one in known if one != release)][:_KEPT]}

    change_document(store, _BROUGHT, add)


def releases_brought(store: Store, state: InstallState) -> set[str]:
    """Every release that is known here: what is deployed is, whoever noted it. Blocks."""
    found = read_document(store, _BROUGHT)
    whole = [one.release for one in (state.deployed(), state.provisioned()) if one is not None]
    parts = [one.release for one in state.components().values()]
    return {*_parse(found[0] if found else None), *whole, *parts}


def _parse(document: Document | None) -> list[str]:
    try:
        return [str(one) for one in document["releases"]] if document else []
    except (KeyError, TypeError) as error:
        raise Malformed(f"{_BROUGHT} is no list of releases: {error!r}; delete it") from error
