"""The command `exclave-worker`: the install worker, in a process without unneeded imports."""

import workers.unused_imports  # noqa: F401 - first, before the modules that would import them
from workers.install import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
