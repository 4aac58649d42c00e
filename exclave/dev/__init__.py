"""`exclave dev`: the whole development control plane, started from one declaration."""
