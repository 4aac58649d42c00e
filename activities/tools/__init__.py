"""The tools that engines run: where they are, and the environment that they are given."""
