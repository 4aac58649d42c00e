"""What an install's worker may pull: exactly the releases that its install was told to run."""
