"""A module for each command, or for a few that are alike; the modules beside this folder work."""
