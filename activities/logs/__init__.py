"""What the tools of an operation printed, for people to read, without secrets."""
