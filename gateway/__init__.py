"""The gateway, the only way in for workers: it enrols and identifies them, authorizes each of their
calls, serves releases to them, and takes in their telemetry."""
