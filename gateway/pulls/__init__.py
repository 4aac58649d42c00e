"""Pulls and pushes of releases; a worker may pull only what its install was told to run."""
