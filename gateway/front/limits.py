"""What the front bounds."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FrontLimits:
    """What the front bounds."""

    connections: int = 10_000
    connections_per_address: int = 2_000
    """A load balancer before the gateway is one address; so is a company behind its NAT. Of IPv6 a
    /64 counts as one."""
    hello_seconds: float = 10.0
    """How long a client may take until it has said what it speaks."""
    idle_seconds: float = 120.0
    """How long nothing may move on an HTTP connection."""
    stranger_bytes: int = 128 * 1024
    """What is read of an HTTP connection on which nobody is proven: an enrolment takes 64 KiB."""
    stranger_call_bytes: int = 32 * 1024
    """The same of gRPC, where headers can take a hundred times as much memory as they have bytes.
    Of HTTP, too, while strangers have had more than one of the next two. A worker needs 22 KiB: a
    handshake, and the whole TLS record that its first headers are in, which may be 16 KiB."""
    strangers_bytes_per_address: int = 16 * 1024 * 1024
    strangers_bytes: int = 64 * 1024 * 1024
    stranger_answers: int = 30
    """How many answers it gets."""
    stranger_seconds: float = 120.0
    """How long it may take; an enrolment takes up to 90 s."""
    proof_seconds: float = 10.0
    """How long it is waited for a proof once nothing more is read."""
    call_bytes: int = 32 * 1024 * 1024
    """What is read of a gRPC connection after one call of who may pass, until the next."""
