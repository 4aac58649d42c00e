"""The processes: each runs activities or workflows from a queue, with settings, and drains."""
