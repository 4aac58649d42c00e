"""How a worker proves its identity: its own keys, the one-time token, and its credential."""
