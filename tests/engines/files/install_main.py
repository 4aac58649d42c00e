"""An install worker of the tests: the shipped one, with an engine more."""

import workers.unused_imports  # noqa: F401 - before what would take it in, as the shipped one does
from tests.engines.files.engine import FILES_ENGINE
from workers.engines import ENGINES
from workers.install import main

if __name__ == "__main__":
    main((*ENGINES, FILES_ENGINE))
