"""The part of the OCI distribution API that a build worker may use.

It reads sources and apps, and pushes to apps, always by digest. It can set no tags, list nothing,
and delete nothing but its own unfinished uploads.
"""

import re
from dataclasses import dataclass

from starlette.requests import Request

from contracts.builds import SOURCES_REPOSITORY, app_repository
from gateway.http.callers import Refused
from gateway.identity import Identity

_NAME = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_APP = app_repository(_NAME)
_DIGEST = r"sha256:[0-9a-f]{64}"
_UPLOADS = rf"/v2/{_APP}/blobs/uploads/"

_ALLOWED = (
    (
        {"GET", "HEAD"},
        re.compile(rf"/v2/(?:{SOURCES_REPOSITORY}|{_APP})/(?:manifests|blobs)/{_DIGEST}"),
    ),
    ({"POST"}, re.compile(_UPLOADS)),
    ({"GET", "PATCH", "PUT", "DELETE"}, re.compile(rf"{_UPLOADS}[A-Za-z0-9_-]{{1,4000}}")),
    ({"PUT"}, re.compile(rf"/v2/{_APP}/manifests/{_DIGEST}")),
)


@dataclass(frozen=True)
class Builds:
    """Decides what build workers may request."""

    org: str | None
    """The org whose releases lie here; None if the gateway serves several, so nobody may push."""

    def check(self, identity: Identity, request: Request) -> None:
        """Check that a build worker may make this request.

        Raises:
            Refused: it may not.
        """
        if self.org is None:
            raise Refused(
                403,
                "this gateway serves several orgs and was not told whose releases these are: set "
                "org in [artifacts] of its settings",
                identity=identity,
            )
        if identity.org != self.org:
            raise Refused(
                403, f"the releases here are not those of {identity.org}", identity=identity
            )
        path = request.scope["path"]
        methods = {
            method
            for allowed, where in _ALLOWED
            if where.fullmatch(path) is not None
            for method in allowed
        }
        if not methods:
            raise Refused(
                404,
                f"{path} is not here: a build worker reads and pushes by digest, in the "
                "repositories of apps",
                identity=identity,
            )
        if request.method not in methods:
            allow = sorted(methods)
            raise Refused(
                405, f"this takes {', '.join(allow)} alone", identity=identity, allow=allow
            )
