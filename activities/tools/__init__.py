"""The tools that engines run: finding them, their versions, and the environment that they get."""
