"""Documents by which a cloud vouches for the machine that a worker runs on."""

from collections.abc import Callable


def document_of(cloud: str, audience: str | None) -> Callable[[str], bytes]:
    """Returns the function that asks a cloud for a document bound to a worker and its key.

    Args:
        cloud: `aws`, `azure` or `gcp`.
        audience: The document's audience, if the cloud cannot issue one for the key.
    """

    # Imported late: a worker enrols once, and need not load these libraries afterwards.
    def signed_sts_request(bound: str) -> bytes:
        from wire.enrolment.aws_document import signed_sts_request  # noqa: PLC0415

        return signed_sts_request(bound)

    def azure_token(bound: str) -> bytes:
        from wire.enrolment.metadata_service import azure_token  # noqa: PLC0415

        return azure_token(audience, bound)

    def gcp_token(bound: str) -> bytes:
        from wire.enrolment.metadata_service import gcp_token  # noqa: PLC0415

        return gcp_token(audience, bound)

    asks: dict[str, Callable[[str], bytes]] = {
        "aws": signed_sts_request,
        "azure": azure_token,
        "gcp": gcp_token,
    }
    return asks[cloud]
