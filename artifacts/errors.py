"""What can go wrong between a client and an OCI registry.

ArtifactError
├── ArtifactMissing       the registry does not have the named artifact
├── RegistryUnreachable   the address does not answer, or its connections keep breaking
├── RegistryRefused       it answers with an error status
├── DigestMismatch        what it sent does not have the digest that was asked for
└── ArtifactTooLarge      what it sends is larger than allowed
"""

_SHOWN_BODY = 500


class ArtifactError(Exception):
    """A request to a registry failed."""


class ArtifactMissing(ArtifactError):
    """The registry does not have the named artifact."""

    def __init__(self, what: str, address: str) -> None:
        super().__init__(f"{what} is not in the registry at {address}")
        self.what = what
        self.address = address


class RegistryUnreachable(ArtifactError):
    """The address does not answer, or its connections keep breaking."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"the registry at {address} does not answer: {reason}")
        self.address = address
        self.reason = reason


class RegistryRefused(ArtifactError):
    """The registry answered with an error status."""

    def __init__(self, status: int, body: str, request: str = "the request") -> None:
        super().__init__(f"the registry refused {request} ({status}): {body[:_SHOWN_BODY]}")
        self.status = status
        self.body = body

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed later: the server is overloaded or has a fault."""
        return self.status in (408, 429) or self.status >= 500


class DigestMismatch(ArtifactError):
    """What the registry sent does not have the digest that was asked for."""

    def __init__(self, what: str, actual: str) -> None:
        super().__init__(
            f"{what} arrived with the digest {actual}: the registry's copy is damaged or forged, "
            "and was not used"
        )
        self.what = what
        self.actual = actual


class ArtifactTooLarge(ArtifactError):
    """What the registry sends is larger than allowed."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"{what} has over {limit} bytes, more than is accepted")
        self.what = what
        self.limit = limit
