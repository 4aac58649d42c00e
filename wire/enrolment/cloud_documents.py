"""What a cloud gives to the machine that a worker runs on, by which it vouches for it."""

from collections.abc import Callable


def document_of(cloud: str, audience: str | None) -> Callable[[str], bytes]:
    """Asks a cloud to vouch for this machine; what is asked with names the worker and its key.

    Args:
        cloud: `aws`, `azure` or `gcp`.
        audience: For whom the document is made, where it cannot be made for the key.
    """

    # With what a cloud is asked, a worker enrols once: it costs one that is enrolled nothing.
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
