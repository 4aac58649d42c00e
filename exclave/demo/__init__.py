"""`exclave demo`: the whole life of an install, explained while it happens."""
