"""Identity tokens from the metadata services of Azure and Google Cloud."""

import httpx

_GCP = "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default"
_AZURE = "http://169.254.169.254/metadata/identity/oauth2/token"
_SECONDS = 10.0


def gcp_token(audience: str | None, bound: str) -> bytes:
    """An identity token from Google Cloud; raises OSError if there is none."""
    params = {"audience": audience or bound, "format": "full"}
    return _asked(f"{_GCP}/identity", params, {"Metadata-Flavor": "Google"}).content


def azure_token(audience: str | None, bound: str) -> bytes:
    """A token of a managed identity from Azure; raises OSError if there is none."""
    # Azure issues tokens only for registered applications, so an audience has to be configured.
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
