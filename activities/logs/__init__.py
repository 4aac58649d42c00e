"""The output of an operation's tools, for people to read, without secrets."""
