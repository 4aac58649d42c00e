"""The processes: each puts activities or workflows on a queue, with settings, and drains."""
