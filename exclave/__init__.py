"""The `exclave` command: one module per command, and `dev/` for the development control plane."""
