"""`exclave demo`: the whole life of an install, told while it happens."""
