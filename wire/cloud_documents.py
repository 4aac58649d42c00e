"""What a cloud gives to the machine that a worker runs on, by which it vouches for it."""

from collections.abc import Callable
from functools import partial

import httpx

BOUND_HEADER = "x-exclave-bound-to"
"""In an AWS document: the worker and its key, signed like the rest."""
STS_BODY = "Action=GetCallerIdentity&Version=2011-06-15"

_GCP = "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default"
_AZURE = "http://169.254.169.254/metadata/identity/oauth2/token"
_SECONDS = 10.0


def document_of(cloud: str, audience: str | None) -> Callable[[str], bytes]:
    """Asks a cloud to vouch for this machine; what is asked with names the worker and its key.

    Args:
        cloud: `aws`, `azure` or `gcp`.
        audience: For whom the document is made, where it cannot be made for the key.
    """
    asks: dict[str, Callable[[str], bytes]] = {
        "aws": _signed_sts_request,
        "azure": partial(_azure_token, audience),
        "gcp": partial(_gcp_token, audience),
    }
    return asks[cloud]


def _signed_sts_request(bound: str) -> bytes:
    # What only AWS needs costs a worker elsewhere nothing.
    from wire.aws_document import signed_sts_request  # noqa: PLC0415

    return signed_sts_request(bound)


def _gcp_token(audience: str | None, bound: str) -> bytes:
    params = {"audience": audience or bound, "format": "full"}
    return _asked(f"{_GCP}/identity", params, {"Metadata-Flavor": "Google"}).content


def _azure_token(audience: str | None, bound: str) -> bytes:
    # Azure makes tokens for registered applications alone: the audience has to be named.
    params = {"api-version": "2018-02-01", "resource": audience or bound}
    answer = _asked(_AZURE, params, {"Metadata": "true"})
    try:
        return str(answer.json()["access_token"]).encode()
    except (ValueError, KeyError, TypeError) as error:
        raise OSError("Azure's metadata service answers without a token") from error


def _asked(url: str, params: dict[str, str], headers: dict[str, str]) -> httpx.Response:
    try:
        # Never through a proxy: the metadata service is the machine's own.
        with httpx.Client(timeout=_SECONDS, trust_env=False) as client:
            answer = client.get(url, params=params, headers=headers)
            answer.raise_for_status()
            return answer
    except httpx.HTTPError as error:
        raise OSError(f"its metadata service does not answer ({type(error).__name__})") from error
