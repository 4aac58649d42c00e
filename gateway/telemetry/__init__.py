"""Telemetry of workers: taken in bounds, stamped with who sent it, handed on or kept."""
