"""A control worker of the tests: the shipped one, whose runs deploy files, too."""

from contracts.engines import ENGINES
from tests.engines.files.declaration import FILES
from workers.control import main

if __name__ == "__main__":
    main((*ENGINES, FILES))
