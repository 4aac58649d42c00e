"""Telemetry of workers: it is limited, stamped with its sender, and forwarded or stored."""
