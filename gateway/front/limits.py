"""The limits of the front."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FrontLimits:
    """The limits of the front. On a stranger's connection, nobody has proven an identity yet."""

    connections: int = 10_000
    connections_per_address: int = 2_000
    """A load balancer in front of the gateway is one address, and so is a company behind a NAT. An
    IPv6 /64 counts as one address."""
    hello_seconds: float = 10.0
    """How long a client may take to send enough bytes to recognize its protocol."""
    idle_seconds: float = 120.0
    """How long an HTTP connection may be idle."""
    stranger_bytes: int = 128 * 1024
    """How much is read of a stranger's HTTP connection; an enrolment takes 64 KiB."""
    stranger_call_bytes: int = 32 * 1024
    """The same for gRPC, where headers can take a hundred times their size in memory; also for HTTP
    while strangers exceed one of the next two limits. A worker needs 22 KiB: a handshake, and the
    whole TLS record with its first headers, which may have 16 KiB."""
    strangers_bytes_per_address: int = 16 * 1024 * 1024
    strangers_bytes: int = 64 * 1024 * 1024
    stranger_answers: int = 30
    """How many answers a stranger gets on one connection."""
    stranger_seconds: float = 120.0
    """How long a stranger's connection may last; an enrolment takes up to 90 s."""
    proof_seconds: float = 10.0
    """How long to wait for a proof once the budget is used up."""
    call_bytes: int = 32 * 1024 * 1024
    """How much is read of a gRPC connection between two calls of a proven caller."""
