"""`python -m exclave` is the `exclave` command."""

from exclave.main import main

main()
