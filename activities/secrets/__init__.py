"""What is known to be secret, and how it is masked in whatever is shown."""
