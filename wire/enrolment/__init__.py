"""How a worker proves who it is: its own keys, the one-time token, and its credential."""
