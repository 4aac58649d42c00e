"""What templates can read: the fields under `.nuon`."""

from collections.abc import Mapping, Set
from typing import Final


def _keys(text: str) -> frozenset[str]:
    return frozenset(text.split())


TEMPLATE_ROOTS: Final[Mapping[str, Set[str] | None]] = {
    "id": None,
    "name": None,
    "org": _keys("id name status"),
    "app": _keys("id name status variables"),
    "install": _keys("id name inputs sandbox"),
    "inputs": _keys("inputs"),
    "sandbox": None,
    "components": None,
    "actions": _keys("workflows"),
}
"""The fields under `.nuon`, each with the fields below it if these are fixed."""

UNSUPPORTED_TEMPLATE_ROOTS: Final = _keys("install_stack secrets cloud_account runner domain")
"""Fields under `.nuon` that have no values yet."""
UNSUPPORTED_INSTALL_FIELDS: Final = _keys("public_domain internal_domain")
"""The same under `.nuon.install`."""
COMPONENT_FIELDS: Final = _keys("status build_id component_id install_component_id outputs")
SANDBOX_FIELDS: Final = _keys("status type version outputs")
WORKFLOW_FIELDS: Final = _keys("status id populated outputs")


def is_unfilled(path: tuple[str, ...]) -> bool:
    """Whether a template may read the path, but it has no value yet."""
    match path:
        case ("nuon", root, *_) if root in UNSUPPORTED_TEMPLATE_ROOTS:
            return True
        case ("nuon", "install", name, *_) if name in UNSUPPORTED_INSTALL_FIELDS:
            return True
    return False
