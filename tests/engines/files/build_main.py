"""A build worker of the tests: the shipped one, whose releases may have files, too."""

from contracts.engines import ENGINES
from tests.engines.files.declaration import FILES
from workers.build import main

if __name__ == "__main__":
    main((*ENGINES, FILES))
