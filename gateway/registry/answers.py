"""The answers that the OCI distribution API specifies."""

from collections.abc import Mapping

from starlette.responses import JSONResponse

VERSION = {"Docker-Distribution-Api-Version": "registry/2.0"}
"""The headers of every answer."""


def error_answer(
    status: int, code: str, message: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """An error as the specification defines it, with `headers` besides the API's version."""
    errors = {"errors": [{"code": code, "message": message}]}
    return JSONResponse(errors, status, {**VERSION, **(headers or {})})
