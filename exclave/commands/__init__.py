"""A module for each command, or for a few similar ones."""
