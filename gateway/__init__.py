"""The only door for workers: it serves releases today, and is also the room for their identity, the
authorization of each of their calls, and the intake of their telemetry."""
