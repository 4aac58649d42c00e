"""The command `exclave-worker`: the install worker, in a process that takes in nothing more."""

import workers.unused_imports  # noqa: F401 - before what would take it in
from workers.install import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
