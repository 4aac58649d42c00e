"""`exclave worker doctor`: checks whether a worker's machine can reach what the worker needs."""
