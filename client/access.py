"""Which workers may pass the gateway, as the Access workflow knows it."""

from client.control_plane import ControlPlane
from contracts.access import AccessPage, AccessPageRequest, SubjectAccess
from contracts.names import access_workflow_id
from wire.encryption.subjects import install_subject


async def subjects(plane: ControlPlane) -> dict[str, SubjectAccess]:
    """Every worker that the Access workflow knows, by subject, in order.

    Raises:
        NoSuchRun: there is no Access workflow, as without a gateway.
        Away: no control worker answers, or Temporal does not.
    """
    found: dict[str, SubjectAccess] = {}
    after: str | None = ""
    workflow_id = access_workflow_id(plane.client.namespace)
    while after is not None:
        asked = AccessPageRequest(after=after)
        page = await plane.ask(workflow_id, "access", AccessPage, argument=asked)
        found |= page.subjects
        after = page.next
    return found


def turned_away(known: dict[str, SubjectAccess], install: str) -> str:
    """`revoked` or `paused` if the gateway gives the install's worker no work; otherwise empty."""
    one = known.get(install_subject(install))
    if one is None:
        return ""
    if one.revoked or (one.keys and all(key.revoked for key in one.keys)):
        return "revoked"
    return "paused" if one.paused else ""
