"""Temporal's gRPC calls: which of them a worker may make, and how they are passed on."""
