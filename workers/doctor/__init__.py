"""`exclave worker doctor`: whether a worker's machine can reach what it needs."""
